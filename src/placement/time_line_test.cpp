// SPDX-License-Identifier: Apache-2.0
// Steps on a simulated time line.
#include "placement/time_line.h"

#include <gtest/gtest.h>

#include <array>

#include "placement/crowding.h"
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

// A device that runs ahead never makes it longer; spans of one device, and copies of one direction,
// do not overlap.
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
    std::array<std::array<Nanoseconds, 2>, 2> ends{};
    for (const TimeSpan& each : line.spans) {
      Nanoseconds& end = ends[each.is_copy ? 1 : 0][each.side];
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
  // What the last one reads travels while the host is at work on the second.
  EXPECT_EQ(time_line(graph, costs, {0, 0, 1}).length, 9 + 40 + 20);
  // An idle device wakes up first, so does a host that waits for it, and the host must ask.
  costs.wakes = {0, 3};
  costs.asks = {{0, 7}, {0, 7}, {0, 7}};
  EXPECT_EQ(time_line(graph, costs, {0, 0, 1}).length, 9 + 40 + 3 + 20 + 3);
  EXPECT_EQ(time_line(graph, costs, {1, 0, 0}).length, 3 + 50 + 12 + 3 + 90);
  EXPECT_EQ(time_line(graph, costs, {1, 1, 0}).length, 3 + 50 + 12 + 3 + 90);
  // Copies through any memory hold the host up, even where it has other work.
  costs.wakes = {};
  costs.asks.clear();
  costs.wire = WireKind::pageable;
  EXPECT_EQ(time_line(graph, costs, {1, 0, 0}).length, 50 + 12 + 40 + 90);
  // Without copies the device writes what the host reads, and computes no further meanwhile.
  costs.wire = WireKind::mapped;
  EXPECT_EQ(time_line(graph, costs, {1, 1, 0}).length, 50 + 12 + 90);
  EXPECT_EQ(time_line(graph, costs, {1, 1, 1}).length, 50 + 90 + 20);
  costs.units[2][0] = 10;
  EXPECT_EQ(time_line(graph, costs, {1, 1, 0}).length, 50 + 12 + 90);
}

// An error that was made on the device is there at 30 and travels for 12; the host has the
// gradient.
TEST(TimeLine, ADeviceMakesTheErrorWhileTheHostMakesTheGradient) {
  StepGraph graph;
  graph.host_gradients_wait = true;
  graph.units = {{{2, TrainPass::input_error}, "above", 0},
                 {{1, TrainPass::weight_gradient}, "own", 0},
                 {{1, TrainPass::input_error}, "own", 0}};
  graph.group = {0, 1, 2};
  graph.flows = {{"error", 0, {1, 2}, 10, false}};
  const StepCosts costs{.units = {{90, 30}, {40, 25}, {90, 50}},
                        .links = {LinkCost{1, 1000}, LinkCost{2, 1000}},
                        .runs_ahead = {false, true}};
  EXPECT_EQ(time_line(graph, costs, {1, 0, 1}).length, 30 + 12 + 40);
  EXPECT_EQ(time_line(graph, costs, {1, 1, 1}).length, 30 + 25 + 50);
  EXPECT_EQ(time_line(graph, costs, {1, 1, 0}).length, 30 + 12 + 90);
}

// Three layers whose errors the device makes, from 0 to 20, 40 and 60; the host learns, each copy
// of 12 behind an error.
TEST(TimeLine, GradientsOfTheHostWaitUntilADeviceHasBeenAskedForAllErrors) {
  StepGraph graph;
  graph.host_gradients_wait = true;
  graph.units = {{{4, TrainPass::forward}, "loss", 0},  {{3, TrainPass::weight_gradient}, "c", 0},
                 {{3, TrainPass::input_error}, "c", 0}, {{2, TrainPass::weight_gradient}, "b", 0},
                 {{2, TrainPass::input_error}, "b", 0}, {{1, TrainPass::weight_gradient}, "a", 0},
                 {{3, TrainPass::update}, "c", 0},      {{2, TrainPass::update}, "b", 0},
                 {{1, TrainPass::update}, "a", 0}};
  for (std::size_t i = 0; i < graph.units.size(); ++i) graph.group.push_back(i);
  graph.flows = {{"c.error", 0, {1, 2}, 10, false}, {"b.error", 2, {3, 4}, 10, false},
                 {"a.error", 4, {5}, 10, false},    {"c.gradient", 1, {6}, 10, false},
                 {"b.gradient", 3, {7}, 10, false}, {"a.gradient", 5, {8}, 10, false}};
  const StepCosts costs{
      .units = {{90, 20}, {30, 90}, {90, 20}, {30, 90}, {90, 20}, {30, 20}, {5, 5}, {5, 5}, {5, 5}},
      .links = {LinkCost{1, 1000}, LinkCost{2, 1000}},
      .runs_ahead = {false, true}};
  // The loss's error is there at 32; behind it the host is never without work.
  EXPECT_EQ(time_line(graph, costs, {1, 0, 1, 0, 1, 0, 0, 0, 0}).length, 32 + 3 * (30 + 5));
  // The device learns the last one, and moves it by itself.
  EXPECT_EQ(time_line(graph, costs, {1, 0, 1, 0, 1, 1, 0, 0, 1}).length, 32 + 2 * (30 + 5));
  // Without an order of its own, the host holds the device up.
  graph.host_gradients_wait = false;
  EXPECT_EQ(time_line(graph, costs, {1, 0, 1, 0, 1, 1, 0, 0, 1}).length,
            32 + 30 + 20 + 12 + 30 + 20 + 20 + 5);
}

TEST(TimeLine, ACopyMeasuredHasItsParts) {
  StepGraph graph;
  for (std::size_t i = 0; i < 3; ++i) {
    graph.units.push_back({{i, TrainPass::forward}, "n", 0});
    graph.group.push_back(i);
  }
  graph.flows = {{"a", 0, {2}, 10, false}};
  const StepCosts costs{.units = {{10, 10}, {40, 5}, {20, 20}},
                        .links = {},
                        .copies = {{CopyCost{4, 30, 2, 6}, CopyCost{1, 90, 8, 0}}},
                        .runs_ahead = {false, true}};
  // Up: the host is at work until 10 + 4 + 40, then asks; the device brings it in and computes.
  EXPECT_EQ(time_line(graph, costs, {0, 0, 1}).length, 10 + 4 + 40 + 2 + 6 + 20);
  // Down: it is there at 10 + 90; the second unit on the device is done by then.
  EXPECT_EQ(time_line(graph, costs, {1, 1, 0}).length, 10 + 90 + 8 + 20);
  EXPECT_EQ(sum_of(graph, costs, {0, 0, 1}), 10 + 40 + 20 + 42);
}

// The host works from 0 to 60, the device from 20 to 50: 30 take twice as long.
TEST(TimeLine, WhatBothComputeInTakesLonger) {
  StepGraph graph;
  for (std::size_t i = 0; i < 3; ++i) {
    graph.units.push_back({{i, TrainPass::forward}, "n", 0});
    graph.group.push_back(i);
  }
  StepCosts costs{.units = {{20, 0}, {0, 30}, {40, 0}},
                  .links = {},
                  .runs_ahead = {false, true},
                  .crowded = 2000};
  const TimeLine line = time_line(graph, costs, {0, 1, 0});
  EXPECT_EQ(line.length, 20 + 2 * 30 + 10);
  EXPECT_EQ(line.spans[0].end, 20);
  EXPECT_EQ(line.spans[1].begin, 20);
  EXPECT_EQ(line.spans[1].end, 20 + 2 * 30);
  EXPECT_EQ(line.spans[2].end, line.length);
  // One alone is as quick as ever, and so are two of which neither runs ahead.
  EXPECT_EQ(time_line(graph, costs, {0, 0, 0}).length, 60);
  costs.runs_ahead = {false, false};
  EXPECT_EQ(time_line(graph, costs, {0, 1, 0}).length, 90);
}

TEST(TimeLine, LongTimesThatBothComputeInAreStretched) {
  constexpr Nanoseconds kLong = 100'000'000'000'000'001;  // a thousand units' most
  Crowding crowding;
  crowding.compute(0, 0, kLong);
  crowding.compute(1, 0, kLong);
  EXPECT_EQ(Crowding::Stretch(crowding, 10000)(kLong), 10 * kLong);
  EXPECT_EQ(Crowding::Stretch(crowding, 999)(kLong), kLong - kLong / 1000);
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
