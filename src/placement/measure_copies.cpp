// SPDX-License-Identifier: Apache-2.0
// Copies by the clock, then by what steps with copies took.
#include "placement/measure_copies.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "placement/fit.h"
#include "placement/parts.h"

namespace nibble::inline placement {
namespace {

// Looks at the clock around every part of a copy, with all else at rest.
class CopyClock {
 public:
  CopyClock(const Backends& backends, const std::array<Nanoseconds, 2>& idle)
      : backends_(backends), idle_(idle) {}

  void see(const Flight& flight, Wire::Moment moment) {
    const std::size_t to = flight.crossing.to == backends_[1].get() ? 1 : 0;
    CopyCost& cost = open_[{flight.crossing.tensor, flight.crossing.from}];
    const Nanoseconds reached = now();
    switch (moment) {
      case Wire::Moment::left:
        cost.leave = reached - begin_;
        flight.settle();
        cost.travel = now() - reached;
        break;
      case Wire::Moment::arrived:
        cost.ask = reached - begin_;
        if (backends_[to]->runs_ahead()) {
          rest();
          cost.arrive = std::max<Nanoseconds>(now() - begin_ - idle_[to], 0);
        }
        costs_[{flight.crossing.tensor, flight.crossing.from}].push_back(cost);
        break;
      default:
        rest();
        begin_ = now();
    }
  }

  // Of medians; nothing where the tensor has never crossed.
  CopyCost of(const std::string& tensor, std::size_t from) const {
    const auto found = costs_.find({tensor, backends_[from].get()});
    if (found == costs_.end()) return {};
    const auto median = [&](Nanoseconds CopyCost::*part) {
      std::vector<Nanoseconds> times;
      for (const CopyCost& each : found->second) times.push_back(each.*part);
      return median_of(times);
    };
    return {median(&CopyCost::leave), median(&CopyCost::travel), median(&CopyCost::ask),
            median(&CopyCost::arrive)};
  }

 private:
  using Way = std::pair<std::string, const IntegerBackend*>;

  void rest() const {
    for (const auto& each : backends_) {
      each->start();
      each->read_slots();
    }
  }

  const Backends& backends_;
  const std::array<Nanoseconds, 2>& idle_;
  Nanoseconds begin_ = 0;
  std::map<Way, CopyCost> open_;
  std::map<Way, std::vector<CopyCost>> costs_;
};

}  // namespace

void measure_copies(const CopySteps& steps, MeasuredStep& measured,
                    const std::function<Nanoseconds(Nanoseconds)>& as_usual) {
  constexpr std::uint32_t kPlacements = 9;
  constexpr int kWarm = 2;  // which take memory: devices may have it for every second step
  constexpr int kSteps = 3;
  const StepGraph& graph = measured.graph;
  CopyClock clock(steps.backends, measured.idle);
  std::vector<MixedStep> mixed;
  for (std::uint32_t number = 0; number < kPlacements; ++number) {
    const Sides sides = sides_by_chance_within(graph, number, steps.parts, steps.most_memory);
    if (sides == all_on(graph, 0)) continue;
    StepTrial trial(steps.network, steps.options, steps.images,
                    placement_of_sides(steps.network, graph, sides, steps.backends));
    for (int i = 0; i < kWarm; ++i) trial.step();
    mixed.push_back({sides, as_usual(trial.usual_step())});
    trial.tape().placement().wire().set_observer(
        [&](const Flight& flight, Wire::Moment moment) { clock.see(flight, moment); });
    for (int i = 0; i < kSteps; ++i) trial.step();
  }
  measured.costs.copies.resize(graph.flows.size());
  for (std::size_t i = 0; i < graph.flows.size(); ++i) {
    for (std::size_t from = 0; from < 2; ++from)
      measured.costs.copies[i][from] = clock.of(graph.flows[i].tensor, from);
  }
  if (!mixed.empty()) measured.costs = fitted_to(mixed, graph, measured.costs);
}

}  // namespace nibble::inline placement
