// SPDX-License-Identifier: Apache-2.0
// Quantized networks as the networks of real numbers that they stand for.
#include "integer_training/dequantized.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/test_support.h"
#include "graph/integer_form.h"
#include "graph/model_writer.h"
#include "integer_training/integer_learner.h"
#include "integer_training/integer_run_test_support.h"

namespace nibble::inline integer_training {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor integers(DType dtype, const Shape& shape, const std::vector<std::int32_t>& values) {
  Tensor tensor(dtype, shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::i8)
      tensor.as<std::int8_t>()[i] = static_cast<std::int8_t>(values[i]);
    else
      tensor.as<std::int32_t>()[i] = values[i];
  }
  return tensor;
}

Precision in_steps(const char* format) {
  return {.format = parse_format(format)};
}

std::vector<Tensor> tensors(Tensor first) {
  std::vector<Tensor> all;
  all.push_back(std::move(first));
  return all;
}

// Two features in halves, two sums, a relu (or relu6) in quarters, their sum in eighths.
Model quantized_model(std::int64_t most = 255) {
  ModelWriter writer(Network{"small", {}, {}});
  writer.add(
      {.name = "input", .op = Input{{2}, {}, {}}, .value = in_steps("int8(symmetric,scale=0.5)")});
  std::vector<Tensor> first = tensors(integers(DType::i8, {2, 2}, {1, -2, 3, 4}));
  first.push_back(integers(DType::i32, {2}, {5, -6}));
  writer.add({.name = "a", .op = Linear{.features = 2, .has_bias = true}, .inputs = {0}},
             std::move(first));
  writer.add({.name = "relu1",
              .op = Rescale{.shift = 8, .low = 0, .high = most, .is_per_channel = true},
              .inputs = {1},
              .value = in_steps("uint8(scale=0.25)")},
             tensors(integers(DType::i32, {2}, {64, 128})));
  writer.add({.name = "b.sum", .op = Linear{.features = 1}, .inputs = {2}},
             tensors(integers(DType::i8, {1, 2}, {7, -8})));
  writer.add({.name = "b",
              .op = Rescale{.shift = 2, .low = -32767, .high = 32767},
              .inputs = {3},
              .value = in_steps("int16(symmetric,scale=0.125)")},
             tensors(integers(DType::i32, {1}, {3})));
  return writer.finished();
}

TEST(Dequantized, WeightsCountInTheUnitsOfTheirSumsOverThatOfTheirInput) {
  const Model real = dequantized(quantized_model());
  std::vector<std::string> names;
  for (const Node& node : real.network.nodes) names.push_back(node.name);
  EXPECT_THAT(names, ElementsAre("input", "a", "relu1", "b"));
  EXPECT_TRUE(is<Relu>(real.network.nodes[2].op));
  // Sums of a count in 64/256/4 and 128/256/4, those of b in 3/4/8.
  EXPECT_THAT(real.parameters[0].as<float>(), ElementsAre(0.125F, -0.25F, 0.75F, 1.0F));
  EXPECT_THAT(real.parameters[1].as<float>(), ElementsAre(0.3125F, -0.75F));
  EXPECT_THAT(real.parameters[2].as<float>(), ElementsAre(2.625F, -3.0F));
  EXPECT_FALSE(is_quantized(real.network));
}

TEST(Dequantized, ARescaleThatIsHeldBelowItsGridIsARelu6) {
  EXPECT_TRUE(is<Relu6>(dequantized(quantized_model(24)).network.nodes[2].op));
}

TEST(Dequantized, TheIntegerFormOfATrainedNetworkStandsForItsMantissas) {
  const TrainingData data = made_up_data({6, 6, 2}, 80, 5);
  IntegerRecipe recipe;
  recipe.network = parse_network(R"(
input = [6, 6, 2]
layers = [
  { op = "conv2d", name = "a", channels = 8, kernel = 3, bias = true }, { op = "relu", name = "r" },
  { op = "conv2d", name = "b", channels = 8, kernel = 3, padding = 1 },
  { op = "concat", name = "both", from = ["b", "r"] }, { op = "max_pool", kernel = 2 },
  { op = "conv2d", name = "c", channels = 8, kernel = 1 }, { op = "conv2d", name = "d", channels = 8, kernel = 1, from = "c" },
  { op = "add", from = ["c", "d"] }, { op = "average_pool", kernel = 2 }, { op = "flatten" },
  { op = "linear", name = "e", features = 5 }, { op = "softmax_cross_entropy" },
])",
                                 "test");
  IntegerLearner learner(recipe, data, nullptr);
  take_steps(learner, data, 10, 12, 12);
  const Model trained = learner.snapshot();
  const Model real = dequantized(integer_form(copy_of(trained)));
  const std::vector<Parameter> parameters = parameters_of(trained.network);
  const std::vector<Parameter> found = parameters_of(real.network);
  ASSERT_EQ(found.size(), parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Node& node = trained.network.nodes[parameters[i].node];
    const bool is_bias = parameters[i].kind == "bias";
    const int exponent = exponent_of(is_bias ? node.bias : node.weight).value();
    EXPECT_TRUE(is_bias || found[i].name == parameters[i].name) << found[i].name;
    for (std::size_t k = 0; k < real.parameters[i].as<float>().size(); ++k)
      ASSERT_EQ(
          real.parameters[i].as<float>()[k],
          std::ldexp(static_cast<float>(trained.parameters[i].as<std::int8_t>()[k]), exponent));
  }
}

TEST(Dequantized, NamesWhatHasNoUnit) {
  Model model = quantized_model();
  model.network.nodes[4].value = {};
  EXPECT_THAT(error_of([&] { dequantized(model); }),
              HasSubstr("node 'b.sum' (linear): unit of its integers: got none"));
  model = quantized_model();
  model.network.nodes[0].value = in_steps("fixed(31,0,symmetric)");
  EXPECT_THAT(error_of([&] { dequantized(model); }), HasSubstr("node 'input' (input)"));
  model = quantized_model();
  model.network.nodes.push_back({.name = "best", .op = ArgMax{}, .inputs = {4}});
  EXPECT_THAT(error_of([&] { dequantized(model); }), HasSubstr("node 'best' (arg_max)"));
}

}  // namespace
}  // namespace nibble::inline integer_training
