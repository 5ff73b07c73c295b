// SPDX-License-Identifier: Apache-2.0
// Plans of float training, with a device that every machine has.
#include "placement/float_work.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/test_support.h"
#include "float_training/float_placement.h"
#include "nibble/core/parallel.h"
#include "nibble/graph/network_text.h"
#include "placement/cut.h"
#include "placement/float_graph.h"
#include "placement/placement_test_support.h"
#include "placement/trace_times.h"

namespace nibble::inline placement {
namespace {

Recipe digits_recipe() {
  Recipe recipe;
  recipe.network = load_network("convnet-8x8");
  recipe.batch = 16;
  recipe.wire = WireFormat::int8;
  return recipe;
}

const Flow& flow_of(const StepGraph& graph, const std::string& tensor) {
  return *std::ranges::find(graph.flows, tensor, &Flow::tensor);
}

TEST(FloatGraph, ProductsAloneCanMove) {
  const Recipe recipe = digits_recipe();
  const StepGraph graph = float_step_graph(recipe, 16);
  for (const PlacedUnit& each : graph.units) {
    const bool is_product = each.node.starts_with("conv") || each.node.starts_with("fc");
    EXPECT_EQ(each.is_fixed, !is_product || each.unit.pass == TrainPass::update) << each.node;
  }
  EXPECT_EQ(graph.find({1, TrainPass::input_error}), nullptr);  // nobody wants the picture's error
  EXPECT_NE(graph.find({1, TrainPass::weight_gradient}), nullptr);
  const Flow& input = flow_of(graph, "conv1.input");
  EXPECT_EQ(input.bytes, 16 * 8 * 8);
  EXPECT_EQ(input.memory(), 4 * input.bytes);  // it lies there in fp32
  EXPECT_EQ(input.to.size(), 2U);
  EXPECT_TRUE(flow_of(graph, "conv1.weight").is_sent);
  EXPECT_EQ(graph.units[flow_of(graph, "conv1.gradients").to[0]].unit.pass, TrainPass::update);
}

TEST(FloatGraph, SimulatedAccumulatorsStay) {
  Recipe recipe = digits_recipe();
  PolicyRule rule;
  rule.roles = {Role::accumulator};
  rule.layers = {"conv1"};
  rule.rounding.accumulator.emplace();
  recipe.policy.rules.push_back(rule);
  for (const PlacedUnit& each : float_step_graph(recipe, 16).units) {
    if (each.node == "conv1") {
      EXPECT_TRUE(each.is_fixed);
    }
  }
}

TEST(FloatGraph, FixedUnitsStayInCutsAndByChance) {
  Draws draws(8);
  for (int round = 0; round < 20; ++round) {
    StepGraph graph = random_graph(9, draws);
    const StepCosts costs = random_costs(graph, draws);
    for (std::size_t i = 0; i < graph.units.size(); ++i)
      graph.units[i].is_fixed = graph.group[i] % 3 == 0;
    const auto is_allowed = [&](const Sides& sides) {
      for (std::size_t i = 0; i < sides.size(); ++i) {
        if (graph.units[i].is_fixed && sides[i] != 0) return false;
      }
      return true;
    };
    Nanoseconds least = INT64_MAX;
    for_all_sides(graph, [&](const Sides& sides) {
      if (is_allowed(sides)) least = std::min(least, sum_of(graph, costs, sides));
    });
    const Sides cut = cheapest_cut(graph, costs);
    EXPECT_TRUE(is_allowed(cut));
    EXPECT_EQ(sum_of(graph, costs, cut), least);
    EXPECT_TRUE(is_allowed(sides_by_chance(graph, 7)));
    EXPECT_TRUE(is_allowed(cut_within(graph, costs, 2000)));
  }
}

TEST(TraceTimes, AddsWithinAStepAndTakesMediansOfSteps) {
  TraceTimes times;
  for (const std::int64_t length : {10, 30, 20}) {
    StepTrace trace;
    trace.add({.track = "host", .name = "a", .begin = 0, .end = length});
    trace.add({.track = "host", .name = "a", .begin = 100, .end = 100 + length});
    trace.add({.track = "GPU", .name = "a", .begin = 0, .end = 7});
    for (const std::int64_t bytes : {1000, 3000}) {
      trace.add({.track = "GPU copies up",
                 .name = "x",
                 .begin = 0,
                 .end = 500 + 2 * bytes,
                 .details = {{"bytes", std::to_string(bytes)}, {"direction", "up"}}});
    }
    times.add(trace);
  }
  EXPECT_EQ(times.on_host("a"), 40);
  EXPECT_EQ(times.on_device("a"), 7);
  EXPECT_EQ(times.on_host("b"), 0);
  EXPECT_EQ(times.link("up"), (LinkCost{500, 2000}));
  EXPECT_EQ(times.link("down"), LinkCost{});
}

class FloatPlan : public testing::Test {
 protected:
  FloatPlan() { setenv("NIBBLE_PLACEMENT", (folder_.path() / "costs.json").c_str(), 1); }
  ~FloatPlan() override { unsetenv("NIBBLE_PLACEMENT"); }
  TemporaryFolder folder_;
};

TEST_F(FloatPlan, IsNeverSlowerThanOneDeviceAndSaysRulesThatFloatsTake) {
  const Recipe recipe = digits_recipe();
  const PlanRequest request{.devices = {"cpu", "pretend"}, .images = 16};
  const StepPlan plan = plan_step(recipe, request);
  EXPECT_FALSE(plan.is_from_cache);
  EXPECT_EQ(plan.candidates[1].name, "all on pretend");
  for (std::size_t i = 0; i < 2; ++i) EXPECT_LE(plan.best().measured, plan.candidates[i].measured);
  for (const PlanCandidate& each : plan.candidates) {
    Recipe placed = recipe;
    placed.place = rules_of(recipe.network, plan.graph, each.sides, plan.devices);
    const FloatPlacement read(placed);
    for (std::size_t i = 0; i < each.sides.size(); ++i) {
      const auto& [node, pass] = plan.graph.units[i].unit;
      const ProductPlace* place = read.of(node);
      const bool is_away =
          place != nullptr && (pass == TrainPass::forward       ? place->has_forward
                               : pass == TrainPass::input_error ? place->has_input_error
                                                                : place->has_weight_gradient);
      if (!plan.graph.units[i].is_fixed) {
        EXPECT_EQ(is_away, each.sides[i] == 1) << placed.place;
      }
    }
  }
  for (const PlacedUnit& unit : plan.graph.units) {
    if (unit.is_fixed) continue;
    const auto& costs = plan.costs.units[static_cast<std::size_t>(&unit - plan.graph.units.data())];
    EXPECT_GT(costs[0], 0) << unit.node;
    EXPECT_GT(costs[1], 0) << unit.node;
  }
  EXPECT_TRUE(plan_step(recipe, request).is_from_cache);
  Recipe other = recipe;
  other.wire = WireFormat::fp32;
  EXPECT_FALSE(plan_step(other, request).is_from_cache);
  const ScopedVariable slower("NIBBLE_PRETEND", "slowdown=2");
  EXPECT_FALSE(plan_step(recipe, request).is_from_cache);
}

TEST_F(FloatPlan, ADeviceThatIsLostLeavesAllToTheCpu) {
  const Recipe recipe = digits_recipe();
  expect_plans_outlive_a_device(
      [&] {
        return plan_step(recipe, {.devices = {"cpu", "pretend"}, .images = 2});
      },
      folder_.path() / "costs.json", 5);
  EXPECT_NE(error_of([&] {
              plan_step(recipe, {.devices = {"cpu", "cuda:63"}, .images = 2});
            }),
            "no error");
}

TEST_F(FloatPlan, ADeviceNeedsNoMoreMemoryThanThePlanMayUse) {
  const Recipe recipe = digits_recipe();
  const StepGraph graph = float_step_graph(recipe, 8);
  set_thread_count(1);
  expect_plans_within_a_device(
      [&](std::int64_t most_memory) {
        return plan_step(recipe, {.devices = {"cpu", "pretend"},
                                  .images = 8,
                                  .most_memory = most_memory,
                                  .uses_cache = false});
      },
      memory_of_second(graph, all_on(graph, 1)));
  set_thread_count(0);
}

TEST_F(FloatPlan, TheCpuComesFirst) {
  EXPECT_NE(error_of([] {
              plan_step(digits_recipe(), {.devices = {"pretend", "cpu"}, .images = 4});
            }).find("cpu, which computes all but products"),
            std::string::npos);
  EXPECT_EQ(plan_step(digits_recipe(), {.images = 4}).rules, "cpu");
}

}  // namespace
}  // namespace nibble::inline placement
