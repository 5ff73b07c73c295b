// SPDX-License-Identifier: Apache-2.0
#include "graph/fake_quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline graph {
namespace {

TEST(FakeQuantize, TiesGoAwayFromZeroAndEndsHold) {
  const IntegerGrid grid{-2, 5};
  EXPECT_EQ(fake_quantized(0.25F, 0.5F, grid), 0.5F);
  EXPECT_EQ(fake_quantized(-0.25F, 0.5F, grid), -0.5F);
  EXPECT_EQ(fake_quantized(0.2F, 0.5F, grid), 0.0F);
  EXPECT_EQ(fake_quantized(100.0F, 0.5F, grid), 2.5F);
  EXPECT_EQ(fake_quantized(-100.0F, 0.5F, grid), -1.0F);
}

TEST(FakeQuantize, AGridIsTheFormatLessItsZero) {
  const Node node{.name = "n", .op = Relu{}};
  EXPECT_EQ(grid_of(node, parse_format("int8")), (IntegerGrid{-128, 127}));
  EXPECT_EQ(grid_of(node, parse_format("uint4(zero=8)")), (IntegerGrid{-8, 7}));
  EXPECT_EQ(grid_of(node, parse_format("uint8(scale=0.5,zero=3)")), (IntegerGrid{-3, 252}));
  EXPECT_THAT(error_of([&] { grid_of(node, parse_format("e4m3")); }),
              testing::HasSubstr("expected integers of at most 16 bits"));
}

TEST(FakeQuantize, IsALayerWithAStep) {
  const Network network = parse_network(R"(
name = "q"
input = [4]
layers = [
  { op = "fake_quantize", name = "q0", low = 0, high = 255 },
  { op = "linear", name = "fc", features = 3, bias = true, weight_steps = 3 },
])",
                                        "q.toml");
  std::vector<std::string> names;
  for (const Parameter& each : parameters_of(network)) {
    names.push_back(each.name + each.shape.to_string());
  }
  EXPECT_THAT(names,
              testing::ElementsAre("q0.step(1,)", "fc.weight(3, 4)", "fc.step(3,)", "fc.bias(3,)"));
}

TEST(FakeQuantize, ABadGridOrNumberOfStepsIsNamed) {
  Network network;
  network.name = "q";
  network.nodes = {{.name = "input", .op = Input{.shape = {4}, .mean = {}, .deviation = {}}},
                   {.name = "q0", .op = FakeQuantize{.low = 1, .high = 3}, .inputs = {0}}};
  EXPECT_THAT(error_of([&] { infer_shapes(network); }), testing::HasSubstr("grid: got 1 to 3"));
  network.nodes[1].op = FakeQuantize{.steps = 3};
  EXPECT_THAT(error_of([&] { infer_shapes(network); }),
              testing::HasSubstr("steps: got 3, expected 1 or 4"));
  network.nodes[1].op = Linear{.features = 3, .weight_steps = 2};
  EXPECT_THAT(error_of([&] { infer_shapes(network); }),
              testing::HasSubstr("weight_steps: got 2, expected 0, 1 or 3"));
}

}  // namespace
}  // namespace nibble::inline graph
