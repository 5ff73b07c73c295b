// SPDX-License-Identifier: Apache-2.0
// The time line of a step.
#include "placement/time_line.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <vector>

#include "placement/crowding.h"

namespace nibble::inline placement {
namespace {

class Simulation {
 public:
  Simulation(const StepGraph& graph, const StepCosts& costs, const Sides& sides)
      : graph_(graph), costs_(costs), sides_(sides), there_(graph.flows.size(), kAway) {
    made_.resize(graph.units.size());
    read_.resize(graph.units.size());
    for (std::size_t i = 0; i < graph.flows.size(); ++i) {
      const Flow& flow = graph.flows[i];
      if (!crosses(flow, sides)) continue;
      made_[flow.from].push_back(i);
      if (flow.is_sent) continue;  // arrives when the step ends
      for (const std::size_t reader : flow.to) {
        if (sides[reader] != sides[flow.from]) read_[reader].push_back(i);
      }
    }
  }

  TimeLine run() {
    for (const std::size_t unit : order()) pass(unit);
    for (std::size_t i = 0; i < graph_.flows.size(); ++i) {
      if (graph_.flows[i].is_sent && crosses(graph_.flows[i], sides_)) arrive(i);
    }
    for (const std::uint8_t side : {std::uint8_t{0}, std::uint8_t{1}})
      wait_on_host(device_[side], side);
    line_.length = host_;
    if (costs_.crowded > 1000) stretch();
    return std::move(line_);
  }

 private:
  static constexpr Nanoseconds kAway = -1;

  void pass(std::size_t unit) {
    for (const std::size_t flow : read_[unit]) arrive(flow);
    compute(unit);
    for (const std::size_t flow : made_[unit]) {
      leave(flow);
      if (graph_.host_gradients_wait && graph_.flows[flow].is_sent && !is_ahead(unit)) arrive(flow);
    }
  }

  bool is_ahead(std::size_t unit) const { return costs_.runs_ahead[sides_[unit]]; }
  std::size_t node_of(std::size_t unit) const { return graph_.units[unit].unit.node; }
  TrainPass pass_of(std::size_t unit) const { return graph_.units[unit].unit.pass; }
  bool is_on_way_back(std::size_t unit) const {
    return pass_of(unit) == TrainPass::input_error || pass_of(unit) == TrainPass::weight_gradient;
  }

  // As IntegerTape::run_backward has it: gradients of the host wait until devices have been asked
  // for all of the way back and for updates of what they have learned; each is applied at once.
  std::vector<std::size_t> order() const {
    const std::size_t count = graph_.units.size();
    std::size_t asked = 0;  // units, with the last of the way back on a device that runs ahead
    std::map<std::size_t, std::size_t, std::greater<>> updates;  // by node, as they come
    for (std::size_t i = 0; i < count; ++i) {
      if (graph_.host_gradients_wait && is_ahead(i) && is_on_way_back(i)) asked = i + 1;
      if (pass_of(i) == TrainPass::update) updates[node_of(i)] = i;
    }
    std::vector<std::size_t> units;
    std::vector<bool> is_in(count);
    const auto add = [&](std::size_t unit) {
      if (!is_in[unit]) units.push_back(unit);
      is_in[unit] = true;
    };
    const auto waits = [&](std::size_t unit) {
      return pass_of(unit) == TrainPass::weight_gradient && !is_ahead(unit);
    };
    for (std::size_t i = 0; i < asked; ++i) {
      if (!waits(i)) add(i);
    }
    for (const auto& [node, update] : updates) {
      if (asked > 0 && is_ahead(update) && read_[update].empty()) add(update);
    }
    for (std::size_t i = 0; i < asked; ++i) {
      if (!waits(i)) continue;
      add(i);
      if (const auto own = updates.find(node_of(i)); own != updates.end()) add(own->second);
    }
    for (std::size_t i = 0; i < count; ++i) add(i);
    return units;
  }

  // A device that has had nothing to do begins a little later.
  Nanoseconds begin_on(std::uint8_t side) const {
    if (!costs_.runs_ahead[side]) return host_;
    return device_[side] > host_ ? device_[side] : host_ + costs_.wakes[side];
  }

  void stretch() {
    const Crowding::Stretch stretched(crowding_, costs_.crowded);
    for (TimeSpan& each : line_.spans) {
      each.begin = stretched(each.begin);
      each.end = stretched(each.end);
    }
    line_.length = stretched(line_.length);
  }

  // The host's own device is the one that does not run ahead.
  void work_on_host(Nanoseconds time) {
    if (costs_.runs_ahead[0] != costs_.runs_ahead[1])
      crowding_.compute(costs_.runs_ahead[0] ? 1 : 0, host_, host_ + time);
    host_ += time;
  }

  void wait_on_host(Nanoseconds until, std::uint8_t side) {
    if (until > host_) host_ = until + (costs_.runs_ahead[side] ? costs_.wakes[side] : 0);
  }

  void compute(std::size_t unit) {
    const std::uint8_t side = sides_[unit];
    const Nanoseconds begin = begin_on(side);
    const Nanoseconds end = begin + costs_.units[unit][side];
    device_[side] = end;
    if (costs_.runs_ahead[side]) crowding_.compute(side, begin, end);
    work_on_host(costs_.runs_ahead[side] ? costs_.ask(unit, side) : end - begin);
    line_.spans.push_back({false, unit, side, begin, end});
  }

  // Copies through pageable memory of a device that runs ahead hold the host up.
  void leave(std::size_t number) {
    const std::uint8_t from = sides_[graph_.flows[number].from];
    const CopyCost cost = costs_.copy(graph_, number, from);
    const bool is_held = costs_.runs_ahead[from] && costs_.wire == WireKind::pageable;
    if (is_held) wait_on_host(device_[from], from);
    work_on_host(cost.leave);
    const Nanoseconds made = costs_.runs_ahead[from] ? device_[from] : host_;
    const Nanoseconds begin = std::max({made, link_[from], is_held ? host_ : 0});
    const Nanoseconds end = begin + cost.travel;
    link_[from] = end;
    there_[number] = end;
    if (is_held) host_ = end;
    // Without copies the device itself writes what the host reads.
    if (costs_.runs_ahead[from] && costs_.wire == WireKind::mapped) device_[from] = end;
    line_.spans.push_back({true, number, from, begin, end});
  }

  void arrive(std::size_t number) {
    if (there_[number] == kAway) return;  // the first reader has seen to it
    const std::uint8_t from = sides_[graph_.flows[number].from];
    const auto to = static_cast<std::uint8_t>(1 - from);
    const CopyCost cost = costs_.copy(graph_, number, from);
    if (costs_.runs_ahead[to]) {
      work_on_host(cost.ask);
      const Nanoseconds begin = std::max(begin_on(to), there_[number]);
      device_[to] = begin + cost.arrive;
      crowding_.compute(to, begin, device_[to]);
    } else {
      wait_on_host(there_[number], from);
      work_on_host(cost.ask);
    }
    there_[number] = kAway;
  }

  const StepGraph& graph_;
  const StepCosts& costs_;
  const Sides& sides_;
  std::vector<Nanoseconds> there_;              // by flow: when it has travelled
  std::vector<std::vector<std::size_t>> made_;  // by unit: flows that leave behind it
  std::vector<std::vector<std::size_t>> read_;  // by unit: flows that must be there before
  Nanoseconds host_ = 0;
  std::array<Nanoseconds, 2> device_{};
  std::array<Nanoseconds, 2> link_{};
  Crowding crowding_;
  TimeLine line_;
};

}  // namespace

TimeLine time_line(const StepGraph& graph, const StepCosts& costs, const Sides& sides) {
  return Simulation(graph, costs, sides).run();
}

}  // namespace nibble::inline placement
