// SPDX-License-Identifier: Apache-2.0
// Plans against real steps: placements by chance on two devices, predicted and measured, beside the
// two pure ones and what auto takes. The best of them all then run again, in turns. Machines have
// slow and quick phases: the two pure ones are asked again and again, and predictions stand twice,
// as they were made and at the speed that the machine has when the step is measured.
//
// Contests, of none or of more than 50 placements by chance, are after the best alone: every
// placement has one turn, the pure ones are asked every few seconds, and a placement by chance
// whose first warm step takes more than twice as long as the best's so far has no other.
//
// usage: placement_bench [network] [images] [first device] [second device] [placements] [seconds]
//                        [training]
//        seconds: no more placements by chance are begun after so many
//        training: int8, or what crosses in floats: fp32, fp16, bf16, wire-int8
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "backend/cuda/register.h"
#include "float_training/cuda/register.h"
#include "graph/batch_norm.h"
#include "nibble/float_training/recipe.h"
#include "nibble/graph/network_text.h"
#include "placement/float_work.h"
#include "placement/integer_work.h"
#include "placement/time_line.h"

namespace {

using namespace nibble;

constexpr std::size_t kFinalists = 4;          // of those by chance
constexpr std::uint32_t kFirstByChance = 100;  // none that costs were measured with
constexpr int kLeastTurns = 3;
constexpr int kMostTurns = 11;
constexpr int kStepsATurn = 3;
constexpr Nanoseconds kEnough = 600'000'000;  // of steps of one placement
constexpr int kManyPlacements = 50;           // more are a contest, and so is none
constexpr Nanoseconds kSecond = 1'000'000'000;
constexpr Nanoseconds kAskedAgain = 5 * kSecond;  // pure placements in a contest
constexpr Nanoseconds kCutOff = 2;                // times the best's step: clearly slower
constexpr Nanoseconds kMemoryTime = 30'000'000;   // more than taking memory takes
constexpr double kHopelessShare = 1.3;            // of the best's time: no second turn at the end

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

// What the network is trained by; float words are those of wires.
std::unique_ptr<PlannedWork> work_of(const Network& network, const std::string& training,
                                     const IntegerOptions& options, const PlanRequest& request) {
  if (training == "int8") return integer_work(network, options, request);
  Recipe recipe;
  recipe.network = network;
  recipe.batch = request.images;
  recipe.wire = wire_by_name(training == "wire-int8" ? "int8" : training);
  return float_work(recipe, request);
}

class Contest {
 public:
  Contest(const PlannedWork& work, const PlanRequest& request, std::string training)
      : work_(work), training_(std::move(training)) {
    const Nanoseconds begin = now();
    plan_ = plan_work(work, request);
    fmt::print("planned in {:.1f} s\n", static_cast<double>(now() - begin) / 1e9);
    for (const std::uint8_t side : {std::uint8_t{0}, std::uint8_t{1}}) {
      const Sides all = all_on(plan_.graph, side);
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
    is_contest_ = placements == 0 || placements > kManyPlacements;
    for (const PlanCandidate& each : plan_.candidates) add(each.name, each.sides, false);
    const std::size_t planned = contestants_.size();
    const Nanoseconds begin = now();
    for (; tried_ < placements && now() - begin < seconds * kSecond; ++tried_)
      add(fmt::format("by chance {}", tried_),
          sides_by_chance(plan_.graph, kFirstByChance + static_cast<std::uint32_t>(tried_)), true);
    show_errors("as it was made", &Contestant::predicted);
    show_errors("at the speed of the moment", &Contestant::now);
    std::ranges::sort(contestants_.begin() + static_cast<std::ptrdiff_t>(planned),
                      contestants_.end(), {}, &Contestant::measured);
    contestants_.resize(std::min(contestants_.size(), planned + kFinalists));
    final_round();
    show_verdict(planned);
  }

 private:
  std::unique_ptr<TimedSteps> trial_of(const Sides& sides) const {
    return work_.trial(plan_.graph, sides);
  }

  static void take_turn(TimedSteps& steps, std::vector<Nanoseconds>& found) {
    steps.step();
    for (int i = 0; i < kStepsATurn; ++i) found.push_back(steps.step());
  }

  // What both take alone at this moment.
  void ask_pure(int turns_so_far) {
    if (turns_so_far == 0) pure_times_ = {};
    for (std::size_t side = 0; side < 2; ++side) take_turn(*pure_[side], pure_times_[side]);
    pure_asked_ = now();
  }

  Nanoseconds best_so_far() const {
    Nanoseconds best = INT64_MAX / kCutOff;
    for (const Contestant& each : contestants_) best = std::min(best, each.measured);
    return best;
  }

  // The first two take memory: devices may have it for every second step. The time of the one that
  // is clearly slower than the best, with which a contest leaves it; else 0.
  Nanoseconds first_steps(TimedSteps& trial, bool may_be_cut_off) {
    for (const Nanoseconds more : {kMemoryTime, kMemoryTime, Nanoseconds{0}}) {
      const Nanoseconds time = trial.step();
      if (!may_be_cut_off || time <= kCutOff * best_so_far() + more) continue;
      ++cut_off_;
      return time;
    }
    return 0;
  }

  // In turns with steps on each device alone, fewer of them where they are long; the first step of
  // a turn finds caches that others have used.
  Nanoseconds usual_step(TimedSteps& trial) {
    std::vector<Nanoseconds> times;
    const Nanoseconds begin = now();
    const int most_turns = is_contest_ ? 1 : kMostTurns;
    for (int i = 0; i < most_turns && (i < kLeastTurns || now() - begin < kEnough); ++i) {
      if (!is_contest_ || now() - pure_asked_ > kAskedAgain) ask_pure(i);
      take_turn(trial, times);
    }
    return median_of(times);
  }

  void add(std::string name, Sides sides, bool is_by_chance) {
    Contestant added{std::move(name), std::move(sides)};
    added.predicted = time_line(plan_.graph, plan_.costs, added.sides).length;
    const std::unique_ptr<TimedSteps> trial = trial_of(added.sides);
    added.measured = first_steps(*trial, is_contest_ && is_by_chance);
    if (added.measured == 0) added.measured = usual_step(*trial);
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

  // Some steps in a row, of which the quickest counts, as for a plan. Who is far behind after the
  // first turn has no other.
  void final_round() {
    struct Finalist {
      Contestant* contestant;
      std::unique_ptr<TimedSteps> trial;
      std::vector<Nanoseconds> times = {};
    };
    std::vector<Finalist> finalists;
    for (Contestant& each : contestants_) finalists.push_back({&each, trial_of(each.sides)});
    for (int turn = 0; turn < 9; ++turn) {
      for (Finalist& each : finalists) {
        Nanoseconds least = each.trial->step();
        for (int step = 0; step < 3; ++step) least = std::min(least, each.trial->step());
        each.times.push_back(least);
        each.contestant->measured = median_of(each.times);
      }
      if (turn > 0) continue;
      const auto most =
          static_cast<Nanoseconds>(kHopelessShare * static_cast<double>(best_so_far()));
      std::erase_if(finalists, [&](const Finalist& each) { return each.times[0] > most; });
    }
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
    fmt::print("by chance: {} placements, {} of them cut off as clearly slower than the best\n",
               tried_, cut_off_);
    fmt::print(
        "{} {} {} on {} and {}: auto {:.3f} ms; {:.3f} of the best's speed, {:.3f} of the best "
        "single device's\n",
        work_.network().name, training_, plan_.images, plan_.devices[0], plan_.devices[1],
        milliseconds(chosen), static_cast<double>(best) / static_cast<double>(chosen),
        static_cast<double>(pure) / static_cast<double>(chosen));
  }

  const PlannedWork& work_;
  std::string training_;
  StepPlan plan_;
  bool is_contest_ = false;
  int tried_ = 0;                                    // by chance
  int cut_off_ = 0;                                  // of them
  std::array<std::unique_ptr<TimedSteps>, 2> pure_;  // everything on the one, on the other
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
    register_cuda_float_device();
    const Network network = load_network(word(1, "lenet"));
    const PlanRequest request{.devices = {word(3, "cpu"), word(4, "pretend")},
                              .images = std::atoll(word(2, "64")),
                              .uses_cache = false};
    const std::string training = word(7, "int8");
    IntegerOptions options;
    if (has_batch_norm(network)) options.update = SgdUpdate{.rate = {20000, -20}};
    Contest(*work_of(network, training, options, request), request, training)
        .run(std::atoi(word(5, "20")), std::atoi(word(6, "100000")));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
