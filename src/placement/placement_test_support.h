// SPDX-License-Identifier: Apache-2.0
// Graphs, costs and sides by chance, for tests of plans.
#pragma once

#include <cstdint>
#include <string>

#include "backend/backend_test_support.h"
#include "placement/costs.h"

namespace nibble::inline placement {

// Units in a row whose tensors flow to some of those behind; now and then two are tied.
inline StepGraph random_graph(std::size_t units, Draws& draws) {
  const auto draw = [&](std::size_t least, std::size_t most) {
    return static_cast<std::size_t>(draws.in(static_cast<int>(least), static_cast<int>(most)));
  };
  StepGraph graph;
  for (std::size_t i = 0; i < units; ++i) {
    graph.units.push_back({{i, TrainPass::forward}, "n" + std::to_string(i), draws.in(0, 1000)});
    graph.group.push_back(i > 0 && draws.in(0, 5) == 0 ? graph.group[draw(0, i - 1)] : i);
  }
  for (std::size_t i = 0; i + 1 < units; ++i) {
    Flow flow{"t" + std::to_string(i), i, {}, draws.in(1, 5000), draws.in(0, 4) == 0};
    flow.is_passing = !flow.is_sent && draws.in(0, 2) == 0;
    for (std::size_t reader = 0, all = draw(1, 3); reader < all; ++reader)
      flow.to.push_back(draw(flow.is_sent ? 0 : i + 1, units - 1));
    graph.flows.push_back(std::move(flow));
  }
  return graph;
}

inline StepCosts random_costs(const StepGraph& graph, Draws& draws) {
  StepCosts costs;
  for (std::size_t i = 0; i < graph.units.size(); ++i)
    costs.units.push_back({draws.in(0, 3000), draws.in(0, 3000)});
  for (LinkCost& link : costs.links) link = {draws.in(0, 300), draws.in(0, 400)};
  return costs;
}

inline Sides random_sides(const StepGraph& graph, Draws& draws) {
  Sides drawn;
  for (std::size_t i = 0; i < graph.units.size(); ++i)
    drawn.push_back(static_cast<std::uint8_t>(draws.in(0, 1)));
  Sides sides;
  for (const std::size_t group : graph.group) sides.push_back(drawn[group]);
  return sides;
}

inline bool keeps_groups(const StepGraph& graph, const Sides& sides) {
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (sides[i] != sides[graph.group[i]]) return false;
  }
  return true;
}

// Calls body(sides) for all placements.
template <class Body>
void for_all_sides(const StepGraph& graph, const Body& body) {
  const std::size_t units = graph.units.size();
  for (std::size_t bits = 0; bits < (std::size_t{1} << units); ++bits) {
    Sides sides;
    for (std::size_t i = 0; i < units; ++i) sides.push_back(bits >> i & 1U);
    if (keeps_groups(graph, sides)) body(sides);
  }
}

}  // namespace nibble::inline placement
