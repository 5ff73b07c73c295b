// SPDX-License-Identifier: Apache-2.0
// With powers of two as steps float arithmetic is exact: the integer network gives the very numbers
// of the fake-quantized one.
#include "nibble/quantization/quantize_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "core/test_support.h"
#include "nibble/engine/engine.h"
#include "nibble/float_training/forward.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline quantization {
namespace {

using testing::HasSubstr;

std::vector<std::int32_t> integers_in(std::span<const std::byte> bytes, DType dtype) {
  std::vector<std::int32_t> integers(bytes.size() / size_of(dtype));
  for (std::size_t i = 0; i < integers.size(); ++i) {
    if (dtype == DType::i8) integers[i] = static_cast<std::int8_t>(bytes[i]);
    if (dtype == DType::u8) integers[i] = static_cast<std::uint8_t>(bytes[i]);
    if (dtype == DType::i32) std::memcpy(&integers[i], &bytes[4 * i], 4);
  }
  return integers;
}

class Twins {
 public:
  explicit Twins(const std::string& layers, const std::string& input = "[6, 6, 3]") {
    model_.network =
        parse_network("name = \"n\"\ninput = " + input + "\nlayers = [" + layers + "]", "n");
    for (const Parameter& parameter : parameters_of(model_.network)) {
      Tensor tensor(DType::f32, parameter.shape);
      for (float& each : tensor.as<float>()) {
        each = parameter.kind == "step"
                   ? std::ldexp(1.0F, static_cast<int>(draw_() % 3) - 5)
                   : static_cast<float>(static_cast<int>(draw_() % 129) - 64) / 64;
      }
      model_.parameters.push_back(std::move(tensor));
    }
  }

  Model& model() { return model_; }

  void expect_equal() { expect_equal(model_, integer_network_of(model_)); }

  void expect_equal(const Model& fake, Model integers) {
    constexpr std::int64_t kImages = 5;
    const Shape& shape = input_of(model_.network).shape;
    std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
    extents.insert(extents.begin(), kImages);
    Tensor batch(DType::f32, Shape(extents));
    const float step = model_.parameters[0].as<float>()[0];
    std::vector<std::byte> bytes(static_cast<std::size_t>(batch.elements()));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const auto value = static_cast<std::uint8_t>(draw_());
      bytes[i] = static_cast<std::byte>(value);
      batch.as<float>()[i] = step * static_cast<float>(value);
    }
    const Tensor reals = answers_of(fake, batch.view());
    const float unit = integers.network.nodes.back().value.format.scaling.scale;
    const Engine engine(std::move(integers));
    std::vector<std::byte> output(engine.output().bytes * kImages);
    engine.run(bytes, kImages, output);
    const std::vector<std::int32_t> answers = integers_in(output, engine.output().dtype);
    ASSERT_EQ(static_cast<std::int64_t>(answers.size()), reals.elements());
    int others = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      ASSERT_EQ(static_cast<float>(answers[i]) * unit, reals.as<float>()[i]) << i;
      if (answers[i] != answers[0]) ++others;
    }
    EXPECT_GT(others, 0);
  }

 private:
  Model model_;
  std::mt19937 draw_{7};
};

constexpr const char* kInput =
    R"toml({ op = "fake_quantize", name = "q0", low = 0, high = 255 },)toml";
constexpr const char* kAnswer =
    R"toml(, { op = "fake_quantize", name = "qe", low = -32767, high = 32767 })toml";

// $8 stands for weights of 8 bits.
std::string layers_of(std::string middle) {
  for (std::size_t at = 0; (at = middle.find("$8")) != std::string::npos;) {
    middle.replace(at, 2, "weight_format = \"int8(symmetric)\"");
  }
  return kInput + middle + kAnswer;
}

TEST(IntegerNetwork, OfProductsReluAndPoolIsTheFakeQuantizedOne) {
  Twins(layers_of(R"toml(
      { op = "conv2d", name = "c1", channels = 4, padding = 1, bias = true, weight_steps = 4, $8 },
      { op = "relu" }, { op = "fake_quantize", low = 0, high = 255 }, { op = "max_pool" },
      { op = "conv2d", name = "c2", channels = 5, weight_steps = 1, weight_format = "int4" },
      { op = "relu6" }, { op = "fake_quantize", low = 0, high = 15 }, { op = "flatten" },
      { op = "linear", name = "l", features = 3, bias = true, weight_steps = 3, weight_format = "int3" })toml"))
      .expect_equal();
}

TEST(IntegerNetwork, OfMeansWhoseWindowsDifferIsTheFakeQuantizedOne) {
  Twins(layers_of(R"toml(
      { op = "conv2d", name = "c1", channels = 4, kernel = 1, weight_steps = 4, $8 },
      { op = "fake_quantize", low = -100, high = 155 },
      { op = "average_pool", kernel = 3, stride = 1, padding = 1, counts_padding = false },
      { op = "fake_quantize", low = 0, high = 15 },
      { op = "average_pool", kernel = 2, stride = 1, padding = 1, counts_padding = false },
      { op = "fake_quantize", low = -127, high = 127 },
      { op = "conv2d", name = "c2", channels = 3, kernel = 1, weight_steps = 3, $8 })toml"))
      .expect_equal();
}

TEST(IntegerNetwork, OfAResidualBlockIsTheFakeQuantizedOne) {
  Twins(layers_of(R"toml(
      { op = "conv2d", name = "c1", channels = 4, kernel = 1, weight_steps = 4, $8 },
      { op = "fake_quantize", name = "short", low = -100, high = 155 },
      { op = "conv2d", name = "c2", channels = 4, padding = 1, bias = true, weight_steps = 4, $8 },
      { op = "add", name = "sum", from = ["c2", "short"] }, { op = "relu" },
      { op = "fake_quantize", name = "joint", low = 0, high = 255 },
      { op = "add", name = "twice", from = ["joint", "short"] },
      { op = "fake_quantize", low = -127, high = 127 },
      { op = "global_average_pool" })toml"),
        "[4, 4, 3]")
      .expect_equal();
}

TEST(IntegerNetwork, RoundsAddendsAsTheFakeQuantizedOneThenDoes) {
  Twins twins(layers_of(R"toml(
      { op = "conv2d", name = "c1", channels = 4, kernel = 1, weight_steps = 4, $8 },
      { op = "fake_quantize", name = "short", low = -100, high = 155 },
      { op = "conv2d", name = "c2", channels = 4, kernel = 1, weight_steps = 4, $8, from = "q0" },
      { op = "add", name = "sum", from = ["c2", "short"] })toml"));
  Model& model = twins.model();
  model.parameters[3].as<float>()[0] = std::ldexp(1.0F, -13);  // finer than the sums of c2
  model = with_rounded_addends(std::move(model));
  const Node& rounding = model.network.nodes[model.network.nodes.size() - 3];
  EXPECT_EQ(rounding.name, "sum.2");
  EXPECT_EQ(std::get<FakeQuantize>(rounding.op).steps, 4);
  twins.expect_equal();
}

TEST(IntegerNetwork, AndItsTwinRoundBiasesAndAddendsAlike) {
  Twins twins(layers_of(R"toml(
      { op = "conv2d", name = "c1", channels = 4, kernel = 1, weight_steps = 4, $8 },
      { op = "fake_quantize", name = "short", low = -100, high = 155 },
      { op = "conv2d", name = "c2", channels = 4, kernel = 1, bias = true, weight_steps = 4, $8, from = "q0" },
      { op = "add", name = "sum", from = ["c2", "short"] })toml"));
  Model& model = twins.model();
  model.parameters[3].as<float>()[0] = std::ldexp(1.0F, -13);  // finer than the sums of c2
  for (float& bias : model.parameters[6].as<float>()) bias += 0.001F;
  IntegerTwins made = integer_twins_of(copy_of(model));
  EXPECT_EQ(made.fake.network.nodes.size(), model.network.nodes.size() + 1);
  EXPECT_NE(made.fake.parameters[6].as<float>()[0], model.parameters[6].as<float>()[0]);
  twins.expect_equal(made.fake, std::move(made.integers));
}

TEST(IntegerNetwork, OfAConcatHasAFactorAChannel) {
  Twins(layers_of(R"toml(
      { op = "conv2d", name = "a", channels = 2, kernel = 1, weight_steps = 2, $8 },
      { op = "relu", name = "r" },
      { op = "conv2d", name = "b", channels = 3, kernel = 1, weight_steps = 3, from = "q0", $8 },
      { op = "concat", from = ["r", "b"] })toml"))
      .expect_equal();
}

TEST(IntegerNetwork, AChannelWhoseStepDiedIsItsBias) {
  Twins dead(layers_of(R"toml(
      { op = "conv2d", name = "c1", channels = 3, bias = true, weight_steps = 3, $8 })toml"));
  dead.model().parameters[2].as<float>()[1] = std::ldexp(1.0F, -40);
  dead.expect_equal();
}

TEST(IntegerNetwork, BiasesBecomeWholeNumbersOfTheirUnit) {
  Twins twins(layers_of(R"toml(
      { op = "conv2d", name = "c1", channels = 2, bias = true, weight_steps = 1, $8 })toml"));
  Model& model = twins.model();
  const float unit = model.parameters[0].as<float>()[0] * model.parameters[2].as<float>()[0];
  model.parameters[3].as<float>()[0] = 3.4F * unit;
  model.parameters[3].as<float>()[1] = -2.5F * unit;
  const Model whole = with_integer_biases(copy_of(model));
  EXPECT_EQ(whole.parameters[3].as<float>()[0], 3 * unit);
  EXPECT_EQ(whole.parameters[3].as<float>()[1], -3 * unit);
}

TEST(IntegerNetwork, WhatCannotBeIsNamed) {
  Twins unrounded(layers_of(R"toml(
      { op = "conv2d", name = "c1", channels = 2, weight_steps = 1, weight_format = "int4" },
      { op = "conv2d", name = "c2", channels = 2, weight_steps = 1, weight_format = "int4" })toml"));
  EXPECT_THAT(error_of([&] { integer_network_of(unrounded.model()); }),
              HasSubstr("node 'c2' (conv2d): input: got sums that nothing rounds"));
  Twins without_steps(layers_of(R"toml({ op = "conv2d", name = "c1", channels = 2 })toml"));
  EXPECT_THAT(error_of([&] { integer_network_of(without_steps.model()); }),
              HasSubstr("'c1' (conv2d): weight_steps: got 0"));
  Twins with_norm(layers_of(R"toml({ op = "batch_norm", name = "bn" })toml"));
  EXPECT_THAT(error_of([&] { integer_network_of(with_norm.model()); }), HasSubstr("'bn'"));
}

}  // namespace
}  // namespace nibble::inline quantization
