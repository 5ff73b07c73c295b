// SPDX-License-Identifier: Apache-2.0
// The time line of a step.
#include "placement/time_line.h"

#include <algorithm>
#include <array>

namespace nibble::inline placement {
namespace {

class Simulation {
 public:
  Simulation(const StepGraph& graph, const StepCosts& costs, const Sides& sides)
      : graph_(graph), costs_(costs), sides_(sides), has_crossed_(graph.flows.size()) {
    read_.resize(graph.units.size());
    sent_.resize(graph.units.size());
    for (std::size_t i = 0; i < graph.flows.size(); ++i) {
      const Flow& flow = graph.flows[i];
      if (flow.is_sent) {
        if (crosses(flow, sides)) sent_[flow.from].push_back(i);
        continue;
      }
      for (const std::size_t reader : flow.to) {
        if (sides[reader] != sides[flow.from]) read_[reader].push_back(i);
      }
    }
  }

  TimeLine run() {
    for (std::size_t i = 0; i < graph_.units.size(); ++i) {
      for (const std::size_t flow : read_[i]) copy(flow);
      compute(i);
      for (const std::size_t flow : sent_[i]) copy(flow);
    }
    line_.length = std::max({host_, device_[0], device_[1]});
    return std::move(line_);
  }

 private:
  void compute(std::size_t unit) {
    const std::uint8_t side = sides_[unit];
    const Nanoseconds begin = std::max(host_, device_[side]);
    const Nanoseconds end = begin + costs_.units[unit][side];
    device_[side] = end;
    if (!costs_.runs_ahead[side]) host_ = end;
    line_.spans.push_back({false, unit, side, begin, end});
  }

  // The host waits for all that the tensor's device has to do, copies, and goes on.
  void copy(std::size_t number) {
    if (has_crossed_[number]) return;
    has_crossed_[number] = true;
    const Flow& flow = graph_.flows[number];
    const std::uint8_t from = sides_[flow.from];
    const Nanoseconds begin = std::max(host_, device_[from]);
    host_ = begin + costs_.copy(graph_, number, from);
    line_.spans.push_back({true, number, from, begin, host_});
  }

  const StepGraph& graph_;
  const StepCosts& costs_;
  const Sides& sides_;
  std::vector<bool> has_crossed_;
  std::vector<std::vector<std::size_t>> read_;  // by unit: flows that must have crossed before
  std::vector<std::vector<std::size_t>> sent_;  // by unit: flows that cross behind it
  Nanoseconds host_ = 0;
  std::array<Nanoseconds, 2> device_{};
  TimeLine line_;
};

}  // namespace

TimeLine time_line(const StepGraph& graph, const StepCosts& costs, const Sides& sides) {
  return Simulation(graph, costs, sides).run();
}

}  // namespace nibble::inline placement
