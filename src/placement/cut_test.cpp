// SPDX-License-Identifier: Apache-2.0
// The cut against all placements there are.
#include "placement/cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "placement/max_flow.h"
#include "placement/placement_test_support.h"

namespace nibble::inline placement {
namespace {

constexpr Nanoseconds kNone = std::numeric_limits<Nanoseconds>::max();

TEST(MaxFlow, FindsTheNarrowestPlace) {
  MaxFlow flow(6);
  const std::int64_t pipes[][3] = {{0, 1, 16}, {0, 2, 13}, {1, 2, 10}, {2, 1, 4},  {1, 3, 12},
                                   {3, 2, 9},  {2, 4, 14}, {4, 3, 7},  {3, 5, 20}, {4, 5, 4}};
  for (const auto& [from, to, capacity] : pipes)
    flow.add_pipe(static_cast<std::size_t>(from), static_cast<std::size_t>(to), capacity);
  EXPECT_EQ(flow.run(0, 5), 23);
  EXPECT_TRUE(flow.is_on_source_side(4));
  EXPECT_FALSE(flow.is_on_source_side(3));
}

TEST(Cut, IsTheCheapestOfAllPlacements) {
  int mixed = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Draws draws(seed);
    const StepGraph graph = random_graph(static_cast<std::size_t>(draws.in(1, 11)), draws);
    const StepCosts costs = random_costs(graph, draws);
    Nanoseconds least = kNone;
    for_all_sides(
        graph, [&](const Sides& sides) { least = std::min(least, sum_of(graph, costs, sides)); });
    const Sides cut = cheapest_cut(graph, costs);
    EXPECT_TRUE(keeps_groups(graph, cut));
    EXPECT_EQ(sum_of(graph, costs, cut), least);
    mixed += std::ranges::count(cut, 1) % std::ssize(cut) != 0;
  }
  EXPECT_GT(mixed, 100);  // or the cases say nothing
}

// Two units there, one here; their errors follow each other, the weight stays.
TEST(Cut, CountsErrorsOnTheirWayOnce) {
  StepGraph graph;
  for (const std::int64_t memory : {10, 20, 40}) {
    const std::size_t number = graph.units.size();
    graph.units.push_back({{number, TrainPass::input_error}, "n", memory});
    graph.group.push_back(number);
  }
  const auto error = [](std::size_t from, std::size_t to, std::int64_t bytes) {
    return Flow{.tensor = "e", .from = from, .to = {to}, .bytes = bytes, .is_passing = true};
  };
  graph.flows = {error(0, 1, 100), error(1, 2, 300),
                 Flow{.tensor = "w", .from = 2, .to = {0}, .bytes = 7, .is_sent = true}};
  EXPECT_EQ(memory_of_second(graph, {0, 0, 0}), 0);
  EXPECT_EQ(memory_of_second(graph, {1, 1, 0}), 30 + 7 + 400);  // both while the second one runs
  EXPECT_EQ(memory_of_second(graph, {0, 0, 1}), 40 + 300);
  EXPECT_EQ(memory_of_second(graph, {1, 0, 0}), 10 + 7 + 100);
  graph.flows.push_back(Flow{.tensor = "x", .from = 0, .to = {1}, .bytes = 1, .unpacked = 4});
  EXPECT_EQ(memory_of_second(graph, {0, 1, 1}), 60 + 400 + 4);
}

TEST(Cut, KeepsWithinTheMemoryAndNearTheBest) {
  Nanoseconds all = 0;
  Nanoseconds all_least = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Draws draws(seed);
    const StepGraph graph = random_graph(9, draws);
    const StepCosts costs = random_costs(graph, draws);
    const std::int64_t most = draws.in(0, 6000);
    Nanoseconds least = kNone;
    for_all_sides(graph, [&](const Sides& sides) {
      if (memory_of_second(graph, sides) <= most)
        least = std::min(least, sum_of(graph, costs, sides));
    });
    const Sides cut = cut_within(graph, costs, most);
    EXPECT_TRUE(keeps_groups(graph, cut));
    EXPECT_LE(memory_of_second(graph, cut), most);
    EXPECT_GE(sum_of(graph, costs, cut), least);
    all += sum_of(graph, costs, cut);
    all_least += least;
  }
  EXPECT_LT(all, all_least + all_least / 10);
}

}  // namespace
}  // namespace nibble::inline placement
