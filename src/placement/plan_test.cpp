// SPDX-License-Identifier: Apache-2.0
// Whole plans, on the devices that every machine has.
#include "placement/integer_work.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/test_support.h"
#include "integer_step/choose_place.h"
#include "nibble/core/parallel.h"
#include "nibble/graph/network_text.h"
#include "placement/cut.h"
#include "placement/one_hash_test_support.h"
#include "placement/step_trial.h"

namespace nibble::inline placement {
namespace {

constexpr std::string_view kTinyNetwork = R"(
input = [4, 4, 1]
layers = [
  { op = "conv2d", name = "a", channels = 4, kernel = 3, padding = 1 },
  { op = "relu" }, { op = "flatten" },
  { op = "linear", name = "b", features = 3 },
  { op = "softmax_cross_entropy" },
])";

Network digits_network() {
  for (const NamedNetwork& each : named_networks()) {
    if (each.name == "convnet-8x8") return parse_network(each.toml, each.name);
  }
  return {};
}

class PlanTest : public testing::Test {
 protected:
  PlanTest() { setenv("NIBBLE_PLACEMENT", (folder_.path() / "costs.json").c_str(), 1); }
  ~PlanTest() override { unsetenv("NIBBLE_PLACEMENT"); }
  TemporaryFolder folder_;
};

TEST_F(PlanTest, IsNeverSlowerThanOneDevice) {
  const Network network = digits_network();
  const PlanRequest request{.devices = {"cpu", "reference"}, .images = 3};
  const StepPlan plan = plan_step(network, {}, request);
  EXPECT_FALSE(plan.is_from_cache);
  EXPECT_EQ(plan.candidates[0].name, "all on cpu");
  EXPECT_EQ(plan.candidates[1].name, "all on reference");
  for (const PlanCandidate& each : plan.candidates) {
    EXPECT_GT(each.measured, 0);
    if (each.name.starts_with("all on")) {
      EXPECT_LE(plan.best().measured, each.measured);
    }
    EXPECT_TRUE(keeps_groups(plan.graph, each.sides));
  }
  EXPECT_TRUE(plan_step(network, {}, request).is_from_cache);
  PlanRequest other = request;
  other.images = 2;
  EXPECT_FALSE(plan_step(network, {}, other).is_from_cache);
}

TEST_F(PlanTest, OneDeviceNeedsNoChoice) {
  const StepPlan plan = plan_step(digits_network(), {}, {.images = 4});
  EXPECT_EQ(plan.candidates.size(), 1U);
  EXPECT_EQ(plan.rules, "cpu");
}

TEST_F(PlanTest, NothingFitsNoMemory) {
  const PlanRequest request{.devices = {"reference", "cpu"}, .images = 4, .most_memory = 2000};
  const StepPlan plan = plan_step(digits_network(), {}, request);
  for (const PlanCandidate& each : plan.candidates)
    EXPECT_LE(memory_of_second(plan.graph, each.sides), 2000);
  EXPECT_EQ(plan.candidates[0].name, "all on reference");
}

TEST_F(PlanTest, ADeviceThatIsLostLeavesAllToTheCpu) {
  const Network network = parse_network(kTinyNetwork, "tiny");
  set_thread_count(1);
  expect_plans_outlive_a_device(
      [&] {
        return plan_step(network, {}, {.devices = {"cpu", "pretend"}, .images = 2});
      },
      folder_.path() / "costs.json", 9);
  set_thread_count(0);
  // One that was never there is an error.
  EXPECT_NE(error_of([&] {
              plan_step(network, {}, {.devices = {"cpu", "cuda:63"}, .images = 2});
            }),
            "no error");
}

TEST_F(PlanTest, ADeviceNeedsNoMoreMemoryThanThePlanMayUse) {
  const Network network = digits_network();
  set_thread_count(1);
  const StepGraph graph = graph_of(network, 8);
  expect_plans_within_a_device(
      [&](std::int64_t most_memory) {
        return plan_step(network, {},
                         {.devices = {"cpu", "pretend"},
                          .images = 8,
                          .most_memory = most_memory,
                          .uses_cache = false});
      },
      memory_of_second(graph, all_on(graph, 1)));
  set_thread_count(0);
}

TEST(Plan, RulesSayTheSameAgain) {
  const Network network = digits_network();
  const IntegerTape tape(network, {}, Placement(make_backend("cpu")));
  const StepGraph graph = step_graph(network, tape, 4);
  const Backends backends = {make_backend("cpu"), make_backend("reference")};
  Draws draws(5);
  for (int i = 0; i < 20; ++i) {
    const Sides sides = random_sides(graph, draws);
    IntegerOptions options;
    choose_place(rules_of(network, graph, sides, {"cpu", "reference"}), options);
    const Placement read = placement_of(network, options);
    const Placement wanted = placement_of_sides(network, graph, sides, backends);
    for (std::size_t node = 0; node < network.nodes.size(); ++node) {
      for (const TrainPass pass : {TrainPass::forward, TrainPass::input_error,
                                   TrainPass::weight_gradient, TrainPass::update})
        EXPECT_EQ(read.of(node, pass).name(), wanted.of(node, pass).name());
    }
  }
}

}  // namespace
}  // namespace nibble::inline placement
