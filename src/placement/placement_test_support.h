// SPDX-License-Identifier: Apache-2.0
// Graphs, costs and sides by chance, for tests of plans.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "backend/backend_test_support.h"
#include "core/warning.h"
#include "placement/cut.h"
#include "placement/parts.h"
#include "placement/plan.h"

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

// Planned again and again with a device that lasts a little longer each time, until it outlives a
// plan: all of it stays on the CPU, in one line, and no costs are kept. `plan` must keep costs in
// `cache`.
template <class Plan>
void expect_plans_outlive_a_device(const Plan& plan, const std::filesystem::path& cache,
                                   int least_moments) {
  take_warnings();
  for (int lost_after = 1, moments = 0;; lost_after = 2 * lost_after + 1, ++moments) {
    SCOPED_TRACE(lost_after);
    setenv("NIBBLE_PRETEND", ("memory=1000000000,lost_after=" + std::to_string(lost_after)).c_str(),
           1);
    const StepPlan found = plan();
    unsetenv("NIBBLE_PRETEND");
    const std::vector<std::string> told = take_warnings();
    EXPECT_EQ(std::filesystem::exists(cache), told.empty());
    if (told.empty()) {
      EXPECT_EQ(found.devices[1], "pretend");
      EXPECT_GE(moments, least_moments);
      return;
    }
    EXPECT_EQ(told.size(), 1U);
    EXPECT_NE(told[0].find("all stays on the CPU"), std::string::npos) << told[0];
    EXPECT_NE(told[0].find("none any more"), std::string::npos) << told[0];
    EXPECT_EQ(found.rules, "cpu");
    EXPECT_EQ(found.candidates.size(), 1U);
    EXPECT_EQ(found.why, "cpu or pretend failed while steps were planned");
  }
}

// Plans under limits, with a device that has hardly more memory than it may use: for measuring and
// trying as for the plan. `plan(most_memory)` must use no cache; of `all` bytes everything needs.
template <class Plan>
void expect_plans_within_a_device(const Plan& plan, std::int64_t all) {
  for (const std::int64_t share : {120, 30}) {  // hundredths
    const std::int64_t most = all * share / 100;
    SCOPED_TRACE(most);
    take_warnings();
    setenv("NIBBLE_PRETEND", ("memory=" + std::to_string(most + 4096)).c_str(), 1);
    const StepPlan found = plan(most);
    const StepPlan unlimited = plan(0);
    unsetenv("NIBBLE_PRETEND");
    EXPECT_EQ(take_warnings(), std::vector<std::string>{});
    for (const PlanCandidate& each : found.candidates) {
      EXPECT_LE(memory_of_second(found.graph, each.sides), most) << each.name;
      EXPECT_GT(each.measured, 0) << each.name;
    }
    const std::vector<Sides> parts = parts_within(found.graph, most);
    EXPECT_EQ(parts.size() > 1, share < 100);
    for (const Sides& part : parts) {  // each was measured there
      Nanoseconds sum = 0;
      for (std::size_t i = 0; i < part.size(); ++i) sum += part[i] * found.costs.units[i][1];
      EXPECT_GT(sum, 0);
    }
    // Without a limit of its own: one step at a time, or what there is room for.
    EXPECT_EQ(unlimited.devices[1], "pretend");
    const bool has_all = std::ranges::any_of(
        unlimited.candidates, [](const auto& each) { return each.name == "all on pretend"; });
    EXPECT_EQ(has_all, share > 100);
    EXPECT_EQ(
        unlimited.why.find("KiB of memory, because of more: [pretend] memory") == std::string::npos,
        share > 100)
        << unlimited.why;
    for (const PlanCandidate& each : unlimited.candidates)
      EXPECT_LE(memory_of_second(unlimited.graph, each.sides), most + 4096) << each.name;
  }
}

}  // namespace nibble::inline placement
