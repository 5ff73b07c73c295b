// SPDX-License-Identifier: Apache-2.0
// The price of a placement without overlap.
#include "placement/costs.h"

#include <algorithm>

#include "nibble/core/philox.h"

namespace nibble::inline placement {

Sides sides_by_chance(const StepGraph& graph, std::uint32_t number) {
  constexpr std::uint64_t kSeed = 24;
  Sides sides = all_on(graph, 1);
  for (std::size_t i = 0; i < sides.size(); ++i)
    sides[i] &= static_cast<std::uint8_t>(draw32({kSeed, number, 0}, graph.group[i]) & 1U);
  return sides;
}

bool crosses(const Flow& flow, const Sides& sides) {
  return std::ranges::any_of(flow.to,
                             [&](std::size_t unit) { return sides[unit] != sides[flow.from]; });
}

CopyCost StepCosts::copy(const StepGraph& graph, std::size_t flow, std::uint8_t from) const {
  if (flow < copies.size() && copies[flow][from].sum() > 0) return copies[flow][from];
  const Nanoseconds link = links[from].of(graph.flows[flow].bytes);
  if (!runs_ahead[0] && !runs_ahead[1]) return {.leave = link};  // the host makes every copy
  return {.travel = link};
}

Nanoseconds sum_of(const StepGraph& graph, const StepCosts& costs, const Sides& sides) {
  Nanoseconds sum = 0;
  for (std::size_t i = 0; i < graph.units.size(); ++i) sum += costs.units[i][sides[i]];
  for (std::size_t i = 0; i < graph.flows.size(); ++i) {
    if (crosses(graph.flows[i], sides))
      sum += costs.copy(graph, i, sides[graph.flows[i].from]).sum();
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
