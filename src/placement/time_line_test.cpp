// SPDX-License-Identifier: Apache-2.0
// Steps on a simulated time line.
#include "placement/time_line.h"

#include <gtest/gtest.h>

#include "placement/local_search.h"
#include "placement/placement_test_support.h"

namespace nibble::inline placement {
namespace {

bool any(const Sides&) {
  return true;
}

TEST(TimeLine, WithoutADeviceThatRunsAheadIsTheSum) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Draws draws(seed);
    const StepGraph graph = random_graph(12, draws);
    const StepCosts costs = random_costs(graph, draws);
    const Sides sides = random_sides(graph, draws);
    EXPECT_EQ(time_line(graph, costs, sides).length, sum_of(graph, costs, sides));
  }
}

// A device that runs ahead never makes it longer; spans of one device and copies do not overlap.
TEST(TimeLine, DevicesWorkSideBySide) {
  int shorter = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Draws draws(seed);
    const StepGraph graph = random_graph(12, draws);
    StepCosts costs = random_costs(graph, draws);
    costs.runs_ahead = {false, true};
    const Sides sides = random_sides(graph, draws);
    const TimeLine line = time_line(graph, costs, sides);
    EXPECT_LE(line.length, sum_of(graph, costs, sides));
    shorter += line.length < sum_of(graph, costs, sides);
    Nanoseconds host = 0;
    Nanoseconds device = 0;
    for (const TimeSpan& each : line.spans) {
      Nanoseconds& end = !each.is_copy && each.side == 1 ? device : host;
      EXPECT_GE(each.begin, end);
      end = each.end;
    }
  }
  EXPECT_GT(shorter, 50);
}

TEST(TimeLine, AnOverlapByHand) {
  StepGraph graph;
  for (std::size_t i = 0; i < 3; ++i) {
    graph.units.push_back({{i, TrainPass::forward}, "n", 0});
    graph.group.push_back(i);
  }
  graph.flows = {{"a", 0, {2}, 10, false}};
  StepCosts costs{.units = {{9, 50}, {40, 90}, {90, 20}},
                  .links = {LinkCost{1, 1000}, LinkCost{2, 1000}},
                  .runs_ahead = {false, true}};
  // The device is done at 50, the host at 40; the copy of 12 waits for the device.
  EXPECT_EQ(time_line(graph, costs, {1, 0, 0}).length, 50 + 12 + 90);
  EXPECT_EQ(time_line(graph, costs, {0, 0, 1}).length, 9 + 40 + 11 + 20);
}

TEST(LocalSearch, NeverMakesItLonger) {
  int shorter = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Draws draws(seed);
    const StepGraph graph = random_graph(10, draws);
    StepCosts costs = random_costs(graph, draws);
    costs.runs_ahead = {false, true};
    const Sides start = random_sides(graph, draws);
    const Sides end = improved(graph, costs, start, any);
    EXPECT_TRUE(keeps_groups(graph, end));
    const Nanoseconds before = time_line(graph, costs, start).length;
    const Nanoseconds after = time_line(graph, costs, end).length;
    EXPECT_LE(after, before);
    shorter += after < before;
    const auto only_start = [&](const Sides& sides) { return sides == start; };
    EXPECT_EQ(improved(graph, costs, start, only_start), start);
  }
  EXPECT_GT(shorter, 40);
}

}  // namespace
}  // namespace nibble::inline placement
