// SPDX-License-Identifier: Apache-2.0
// Costs by looking at the clock.
#include "placement/measure.h"

#include <algorithm>
#include <map>
#include <string>

#include "nibble/core/philox.h"

namespace nibble::inline placement {
namespace {

constexpr int kWarmSteps = 2;
constexpr int kLeastSteps = 5;
constexpr int kMostSteps = 25;
constexpr Nanoseconds kEnough = 1'000'000'000;  // of steps on one device

// Waits for the backend before and after a unit, so that the clock sees this unit alone.
class UnitClock final : public StepWatcher {
 public:
  explicit UnitClock(IntegerBackend& backend) {
    std::vector<Nanoseconds> idle;
    for (int i = 0; i < 15; ++i) {
      const Nanoseconds begin = now();
      backend.read_slots();
      idle.push_back(now() - begin);
    }
    idle_ = median_of(idle);
  }

  void begin(StepUnit, IntegerBackend& backend) override {
    backend.read_slots();
    begin_ = now();
  }
  void end(StepUnit unit, IntegerBackend& backend) override {
    backend.read_slots();
    step_[unit] += std::max<Nanoseconds>(now() - begin_ - idle_, 0);
  }
  void end_step() {
    for (const auto& [unit, time] : step_) times_[unit].push_back(time);
    step_.clear();
  }
  void forget() { step_.clear(); }
  Nanoseconds of(StepUnit unit) const {
    const auto found = times_.find(unit);
    return found == times_.end() ? 0 : median_of(found->second);
  }

 private:
  Nanoseconds idle_ = 0;  // what asking takes where there is nothing to wait for
  Nanoseconds begin_ = 0;
  std::map<StepUnit, Nanoseconds> step_;
  std::map<StepUnit, std::vector<Nanoseconds>> times_;
};

Nanoseconds copy_time(IntegerBackend& from, IntegerBackend& to, std::int64_t images) {
  const Picture picture{1, 1, 64};
  const auto values_on = [&](IntegerBackend& backend) {
    return Values{.picture = picture,
                  .images = images,
                  .memory = backend.take(picture, images),
                  .exponent = backend.new_slot()};
  };
  const Values source = values_on(from);
  const Values target = values_on(to);
  const std::vector<std::int8_t> mantissas(static_cast<std::size_t>(images * 64), 3);
  from.load(mantissas, 0, source);
  std::vector<Nanoseconds> times;
  for (int i = 0; i < 15; ++i) {
    from.read_slots();
    const Nanoseconds begin = now();
    transfer(from, source, to, target);
    to.read_slots();
    times.push_back(now() - begin);
  }
  return median_of(times);
}

// Layouts and kinds of tensors make copies of the same size unlike, so each is measured: in steps
// of placements by chance, in which every tensor crosses now and then.
void measure_copies(const Network& network, const IntegerOptions& options, std::int64_t images,
                    const Backends& backends, MeasuredStep& measured) {
  constexpr std::uint32_t kPlacements = 8;
  constexpr int kSteps = 3;  // the first takes memory
  const StepGraph& graph = measured.graph;
  std::map<std::pair<std::string, const IntegerBackend*>, std::vector<Nanoseconds>> times;
  for (std::uint32_t number = 0; number < kPlacements; ++number) {
    Sides sides;
    for (const std::size_t group : graph.group)
      sides.push_back(static_cast<std::uint8_t>(draw32({1, number, 0}, group) & 1U));
    StepTrial trial(network, options, images, placement_of_sides(network, graph, sides, backends));
    Nanoseconds begin = 0;
    trial.step();
    trial.tape().placement().wire().set_observer([&](const Crossing& crossing, bool is_done) {
      for (const auto& each : backends) each->read_slots();
      if (is_done)
        times[{crossing.tensor, crossing.from}].push_back(now() - begin);
      else
        begin = now();
    });
    for (int i = 1; i < kSteps; ++i) trial.step();
  }
  measured.costs.copies.resize(graph.flows.size());
  for (std::size_t i = 0; i < graph.flows.size(); ++i) {
    for (std::size_t from = 0; from < 2; ++from) {
      const auto found = times.find({graph.flows[i].tensor, backends[from].get()});
      if (found != times.end()) measured.costs.copies[i][from] = median_of(found->second);
    }
  }
}

}  // namespace

LinkCost measure_link(IntegerBackend& from, IntegerBackend& to) {
  constexpr std::int64_t kFew = 64;
  constexpr std::int64_t kMany = 16384;  // images of 64 bytes
  const StepContext step{.all_images = kMany};
  from.begin(step);
  to.begin(step);
  const Nanoseconds few = copy_time(from, to, kFew);
  const Nanoseconds many = copy_time(from, to, kMany);
  LinkCost link;
  link.picoseconds_a_byte = std::max<std::int64_t>((many - few) * 1000 / ((kMany - kFew) * 64), 0);
  link.latency = std::max<Nanoseconds>(few - kFew * 64 * link.picoseconds_a_byte / 1000, 0);
  return link;
}

MeasuredStep measure_step(const Network& network, const IntegerOptions& options,
                          std::int64_t images, const Backends& backends) {
  MeasuredStep measured;
  for (std::size_t side = 0; side < 2; ++side) {
    if (side == 1 && backends[1] == backends[0]) {
      for (auto& each : measured.costs.units) each[1] = each[0];
      break;
    }
    IntegerBackend& backend = *backends[side];
    measured.costs.runs_ahead[side] = backend.runs_ahead();
    StepTrial trial(network, options, images, Placement(backends[side]));
    if (side == 0) {
      measured.graph = step_graph(network, trial.tape(), images);
      measured.costs.units.resize(measured.graph.units.size());
    }
    UnitClock clock(backend);
    trial.tape().set_watcher(&clock);
    for (int i = 0; i < kWarmSteps; ++i) trial.step();
    clock.forget();
    Nanoseconds spent = 0;
    for (int i = 0; i < kMostSteps && (i < kLeastSteps || spent < kEnough); ++i) {
      spent += trial.step();
      clock.end_step();
    }
    for (std::size_t i = 0; i < measured.graph.units.size(); ++i)
      measured.costs.units[i][side] = clock.of(measured.graph.units[i].unit);
  }
  if (backends[0] != backends[1]) {
    measured.costs.links[0] = measure_link(*backends[0], *backends[1]);
    measured.costs.links[1] = measure_link(*backends[1], *backends[0]);
    measure_copies(network, options, images, backends, measured);
  }
  return measured;
}

}  // namespace nibble::inline placement
