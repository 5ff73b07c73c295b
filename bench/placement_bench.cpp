// SPDX-License-Identifier: Apache-2.0
// Plans against real steps: placements by chance on two devices, predicted and measured, beside the
// two pure ones and what auto takes. The best of them all then run again, in turns. Machines have
// slow and quick phases: the two pure ones are asked again and again, and predictions stand twice,
// as they were made and at the speed that the machine has when the step is measured.
//
// More than 50 placements have few steps each, and the pure ones are asked every second.
//
// usage: placement_bench [network] [images] [first device] [second device] [placements] [seconds]
//        seconds: no more placements by chance are begun after so many
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "backend/cuda/register.h"
#include "graph/batch_norm.h"
#include "nibble/graph/network_text.h"
#include "placement/integer_work.h"
#include "placement/step_trial.h"
#include "placement/time_line.h"

namespace {

using namespace nibble;

constexpr std::size_t kFinalists = 4;          // of those by chance
constexpr std::uint32_t kFirstByChance = 100;  // none that costs were measured with
constexpr int kLeastTurns = 3;
constexpr int kMostTurns = 11;
constexpr int kStepsATurn = 3;
constexpr Nanoseconds kEnough = 600'000'000;  // of steps of one placement
constexpr int kManyPlacements = 50;           // more have one turn each
constexpr Nanoseconds kSecond = 1'000'000'000;

double milliseconds(Nanoseconds time) {
  return static_cast<double>(time) / 1e6;
}

struct Contestant {
  std::string name;
  Sides sides;
  Nanoseconds predicted = 0;
  Nanoseconds now = 0;  // the prediction at the speed of the moment
  Nanoseconds measured = 0;
};

class Contest {
 public:
  Contest(const Network& network, std::int64_t images, std::array<std::string, 2> devices)
      : network_(network), images_(images) {
    if (has_batch_norm(network)) options_.update = SgdUpdate{.rate = {20000, -20}};
    plan_ =
        plan_step(network_, options_, {.devices = devices, .images = images, .uses_cache = false});
    backends_ = {make_backend(devices[0]), make_backend(devices[1])};
    for (const std::uint8_t side : {std::uint8_t{0}, std::uint8_t{1}}) {
      const Sides all(plan_.graph.units.size(), side);
      planned_pure_ += time_line(plan_.graph, plan_.costs, all).length;
      pure_[side] = trial_of(all);
      for (int i = 0; i < 3; ++i) pure_[side]->step();
    }
  }

  void run(int placements, int seconds) {
    for (const WireCost& wire : plan_.costs.wires) {
      for (std::size_t from = 0; from < wire.links.size(); ++from)
        fmt::print("copies from {}, {}: {:.1f} us + {:.3f} ns a byte\n", plan_.devices[from],
                   name_of(wire.kind), static_cast<double>(wire.links[from].latency) / 1e3,
                   static_cast<double>(wire.links[from].picoseconds_a_byte) / 1e3);
    }
    fmt::print("both at once take {:.2f} of the time alone\n",
               static_cast<double>(plan_.costs.crowded) / 1e3);
    const bool are_many = placements > kManyPlacements;
    for (const PlanCandidate& each : plan_.candidates)
      add(each.name, each.sides, are_many ? kLeastTurns : kMostTurns);
    const std::size_t planned = contestants_.size();
    const Nanoseconds begin = now();
    int tried = 0;
    for (; tried < placements && now() - begin < seconds * kSecond; ++tried)
      add(fmt::format("by chance {}", tried),
          sides_by_chance(plan_.graph, kFirstByChance + static_cast<std::uint32_t>(tried)),
          are_many ? 1 : kMostTurns);
    if (tried < placements) fmt::print("only {} placements by chance were tried\n", tried);
    show_errors("as it was made", &Contestant::predicted);
    show_errors("at the speed of the moment", &Contestant::now);
    std::ranges::sort(contestants_.begin() + static_cast<std::ptrdiff_t>(planned),
                      contestants_.end(), {}, &Contestant::measured);
    contestants_.resize(std::min(contestants_.size(), planned + kFinalists));
    final_round();
    show_verdict(planned);
  }

 private:
  std::unique_ptr<StepTrial> trial_of(const Sides& sides) const {
    return std::make_unique<StepTrial>(network_, options_, images_,
                                       placement_of_sides(network_, plan_.graph, sides, backends_));
  }

  static void take_turn(StepTrial& steps, std::vector<Nanoseconds>& found) {
    steps.step();
    for (int i = 0; i < kStepsATurn; ++i) found.push_back(steps.step());
  }

  // What both take alone at this moment.
  void ask_pure(int turns_so_far) {
    if (turns_so_far == 0) pure_times_ = {};
    for (std::size_t side = 0; side < 2; ++side) take_turn(*pure_[side], pure_times_[side]);
    pure_asked_ = now();
  }

  // In turns with steps on each device alone, fewer of them where they are long; the first step of
  // a turn finds caches that others have used. Who has one turn only needs no new steps of theirs
  // where some were made a moment ago.
  void add(std::string name, Sides sides, int most_turns) {
    Contestant added{std::move(name), std::move(sides)};
    added.predicted = time_line(plan_.graph, plan_.costs, added.sides).length;
    const std::unique_ptr<StepTrial> trial = trial_of(added.sides);
    const bool has_one_turn = most_turns == 1;
    for (int i = 0; i < (has_one_turn ? 1 : 3); ++i) trial->step();
    std::vector<Nanoseconds> times;
    const Nanoseconds begin = now();
    for (int i = 0; i < most_turns && (i < kLeastTurns || now() - begin < kEnough); ++i) {
      if (!has_one_turn || now() - pure_asked_ > kSecond) ask_pure(i);
      take_turn(*trial, times);
    }
    added.measured = median_of(times);
    added.now =
        added.predicted * (median_of(pure_times_[0]) + median_of(pure_times_[1])) / planned_pure_;
    fmt::print(
        "{:<16} predicted {:>9.3f} ms, now {:>9.3f}  measured {:>9.3f} ms  {:>+6.1f} {:>+6.1f} "
        "% {:>10} bytes\n",
        added.name, milliseconds(added.predicted), milliseconds(added.now),
        milliseconds(added.measured), off(added.predicted, added.measured),
        off(added.now, added.measured), bytes_crossing(plan_.graph, added.sides));
    std::fflush(stdout);
    contestants_.push_back(std::move(added));
  }

  static double off(Nanoseconds predicted, Nanoseconds measured) {
    return 100.0 * static_cast<double>(predicted - measured) / static_cast<double>(measured);
  }

  void show_errors(std::string_view when, Nanoseconds Contestant::*prediction) const {
    std::vector<Nanoseconds> errors;  // in thousandths
    for (const Contestant& each : contestants_)
      errors.push_back(std::abs(each.*prediction - each.measured) * 1000 / each.measured);
    const auto within = std::ranges::count_if(errors, [](Nanoseconds each) { return each <= 150; });
    fmt::print(
        "prediction {}: off by {:.1f} % in the median, {:.1f} % at most; {} of {} within 15 %\n",
        when, static_cast<double>(median_of(errors)) / 10,
        static_cast<double>(*std::ranges::max_element(errors)) / 10, within, errors.size());
  }

  // Some steps in a row, of which the quickest counts, as for a plan.
  void final_round() {
    std::vector<std::unique_ptr<StepTrial>> trials;
    for (const Contestant& each : contestants_) trials.push_back(trial_of(each.sides));
    std::vector<std::vector<Nanoseconds>> times(trials.size());
    for (int turn = 0; turn < 9; ++turn) {
      for (std::size_t i = 0; i < trials.size(); ++i) {
        Nanoseconds least = trials[i]->step();
        for (int step = 0; step < 3; ++step) least = std::min(least, trials[i]->step());
        times[i].push_back(least);
      }
    }
    for (std::size_t i = 0; i < trials.size(); ++i) contestants_[i].measured = median_of(times[i]);
  }

  void show_verdict(std::size_t planned) const {
    const Nanoseconds chosen = contestants_[plan_.chosen].measured;
    Nanoseconds best = chosen;
    Nanoseconds pure = INT64_MAX;
    for (std::size_t i = 0; i < contestants_.size(); ++i) {
      const Contestant& each = contestants_[i];
      fmt::print("again: {:<16} {:>9.3f} ms{}\n", each.name, milliseconds(each.measured),
                 i == plan_.chosen ? "  <- auto" : "");
      best = std::min(best, each.measured);
      if (i < planned && each.name.starts_with("all on")) pure = std::min(pure, each.measured);
    }
    fmt::print(
        "{} {} on {} and {}: auto {:.3f} ms; {:.3f} of the best's speed, {:.3f} of the best "
        "single device's\n",
        network_.name, images_, plan_.devices[0], plan_.devices[1], milliseconds(chosen),
        static_cast<double>(best) / static_cast<double>(chosen),
        static_cast<double>(pure) / static_cast<double>(chosen));
  }

  const Network& network_;
  std::int64_t images_;
  IntegerOptions options_;
  StepPlan plan_;
  Backends backends_;
  std::array<std::unique_ptr<StepTrial>, 2> pure_;  // everything on the one, on the other
  std::array<std::vector<Nanoseconds>, 2> pure_times_;
  Nanoseconds pure_asked_ = 0;
  Nanoseconds planned_pure_ = 0;  // both, when costs were measured
  std::vector<Contestant> contestants_;
};

}  // namespace

int main(int count, char** words) {
  const auto word = [&](int i, const char* usual) { return i < count ? words[i] : usual; };
  try {
    register_cuda_backend();
    const Network network = load_network(word(1, "lenet"));
    Contest(network, std::atoll(word(2, "64")), {word(3, "cpu"), word(4, "pretend")})
        .run(std::atoi(word(5, "20")), std::atoi(word(6, "100000")));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
