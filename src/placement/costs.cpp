// SPDX-License-Identifier: Apache-2.0
// The price of a placement without overlap.
#include "placement/costs.h"

#include <algorithm>

namespace nibble::inline placement {

bool crosses(const Flow& flow, const Sides& sides) {
  return std::ranges::any_of(flow.to,
                             [&](std::size_t unit) { return sides[unit] != sides[flow.from]; });
}

Nanoseconds StepCosts::copy(const StepGraph& graph, std::size_t flow, std::uint8_t from) const {
  if (flow < copies.size() && copies[flow][from] > 0) return copies[flow][from];
  return links[from].of(graph.flows[flow].bytes);
}

Nanoseconds sum_of(const StepGraph& graph, const StepCosts& costs, const Sides& sides) {
  Nanoseconds sum = 0;
  for (std::size_t i = 0; i < graph.units.size(); ++i) sum += costs.units[i][sides[i]];
  for (std::size_t i = 0; i < graph.flows.size(); ++i) {
    if (crosses(graph.flows[i], sides)) sum += costs.copy(graph, i, sides[graph.flows[i].from]);
  }
  return sum;
}

std::int64_t bytes_crossing(const StepGraph& graph, const Sides& sides) {
  std::int64_t bytes = 0;
  for (const Flow& flow : graph.flows) {
    if (crosses(flow, sides)) bytes += flow.bytes;
  }
  return bytes;
}

}  // namespace nibble::inline placement
