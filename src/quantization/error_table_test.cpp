// SPDX-License-Identifier: Apache-2.0
#include "quantization/error_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "quantization/quantize_test_support.h"

namespace nibble::inline quantization {
namespace {

ConstTensorView pairs_of(std::span<const float> values) {
  return {reinterpret_cast<const std::byte*>(values.data()), DType::f32,
          Shape{static_cast<std::int64_t>(values.size() / 2), 2}};
}

TEST(ErrorMeter, MeasuresDecibelsByChannel) {
  const std::array<float, 4> exact = {10, 1, -10, 1};
  const std::array<float, 4> rounded = {10, 0.9F, -10, 1.1F};
  ErrorMeter meter(2);
  meter.add(pairs_of(exact), pairs_of(rounded));
  const NodeError error = meter.error_of({.name = "a", .op = Relu{}});
  EXPECT_EQ(error.name, "a");
  EXPECT_EQ(error.op, "relu");
  EXPECT_NEAR(error.sqnr, 10 * std::log10(202 / 0.02), 1e-4);
  EXPECT_EQ(error.worst_channel, 1);
  EXPECT_NEAR(error.worst_sqnr, 20, 1e-4);
  EXPECT_NEAR(error.most_error, 0.1, 1e-6);
}

TEST(ErrorMeter, EqualValuesAreExactAndChannelsOfZerosNotTheWorst) {
  const std::array<float, 4> exact = {0, 1, 0, 2};
  ErrorMeter meter(2);
  meter.add(pairs_of(exact), pairs_of(exact));
  EXPECT_EQ(meter.error_of({.name = "a", .op = Relu{}}).sqnr, INFINITY);
  const std::array<float, 4> rounded = {0.5F, 1, 0, 1.5F};
  meter.add(pairs_of(exact), pairs_of(rounded));
  EXPECT_EQ(meter.error_of({.name = "a", .op = Relu{}}).worst_channel, 1);
}

TEST(ErrorTable, NodesAreComparedByNameOverAllBatches) {
  const Network network =
      chain({4}, {Linear{.features = 3}, Relu{}, Linear{.features = 2}, SoftmaxCrossEntropy{}});
  const Model model = random_model(network);
  Model other = copy_of(model);
  for (float& w : parameter(other, "n3.weight")) w *= 0.99F;
  other.network.nodes[2].name = "renamed";
  std::vector<Tensor> batches;
  batches.push_back(random_batch(network, 3));
  batches.push_back(random_batch(network, 5));
  const std::vector<NodeError> errors = node_errors(model, other, batches);
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0].name, "n1");
  EXPECT_EQ(errors[0].sqnr, INFINITY);
  EXPECT_EQ(errors[1].name, "n3");
  EXPECT_NEAR(errors[1].sqnr, 40, 0.01);  // a hundredth of the signal
}

TEST(ErrorTable, OtherShapesAreRefused) {
  ErrorMeter meter(2);
  const std::array<float, 4> values{};
  EXPECT_THAT(error_of([&] { meter.add(pairs_of(values), pairs_of(std::span(values).first(2))); }),
              testing::HasSubstr("shape: got (1, 2), expected (2, 2)"));
}

TEST(ErrorTable, TextAndJson) {
  const std::vector<NodeError> errors = {{.name = "conv1",
                                          .op = "conv2d",
                                          .sqnr = 41.25,
                                          .worst_channel = 12,
                                          .worst_sqnr = 8.5,
                                          .most_error = 0.125},
                                         {.name = "fc",
                                          .op = "linear",
                                          .sqnr = INFINITY,
                                          .worst_channel = 0,
                                          .worst_sqnr = INFINITY,
                                          .most_error = 0}};
  EXPECT_EQ(error_table_text(errors),
            "name   op      SQNR dB  worst dB  channel  max error\n"
            "conv1  conv2d     41.2       8.5       12      0.125\n"
            "fc     linear    exact     exact        0          0\n");
  const auto json = nlohmann::json::parse(error_table_json(errors));
  EXPECT_EQ(json[0]["sqnr_db"], 41.25);
  EXPECT_EQ(json[0]["worst_channel"], 12);
  EXPECT_EQ(json[1]["worst_sqnr_db"], "inf");
}

}  // namespace
}  // namespace nibble::inline quantization
