// SPDX-License-Identifier: Apache-2.0
#include "quantization/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "core/test_support.h"
#include "nibble/engine/engine.h"
#include "nibble/float_training/forward.h"
#include "nibble/graph/network_text.h"
#include "nibble/quantization/quantize_model.h"

namespace nibble::inline quantization {
namespace {

// A flag, a byte, a counter far from 0 and a sum of both signs.
constexpr std::array<double, 4> kMiddle = {0, 128, 1'000'000, 0};
constexpr std::array<double, 4> kHalf = {1, 127, 3000, 200'000'000};
constexpr std::int64_t kExamples = 256;

class Features : public testing::Test {
 protected:
  Features() {
    model_.network = parse_network(R"(
name = "counters"
input = [4]
layers = [{ op = "linear", name = "a", features = 12, bias = true }, { op = "relu" },
          { op = "linear", name = "b", features = 3 }])",
                                   "counters");
    std::uniform_real_distribution<double> unit(-1, 1);
    for (const Parameter& each : parameters_of(model_.network)) {
      Tensor tensor(DType::f32, each.shape);
      for (float& x : tensor.as<float>()) x = static_cast<float>(unit(draw_));
      model_.parameters.push_back(std::move(tensor));
    }
    for (std::size_t i = 0; i < 48; ++i) {  // as training on raw numbers would leave them
      float& weight = model_.parameters[0].as<float>()[i];
      weight /= static_cast<float>(kHalf[i % 4]);
      model_.parameters[1].as<float>()[i / 4] -= weight * static_cast<float>(kMiddle[i % 4]);
    }
    batches_.emplace_back(DType::f32, Shape{kExamples, 4});
    for (std::size_t i = 0; i < 4 * kExamples; ++i) {
      const double value = kMiddle[i % 4] + std::round(kHalf[i % 4] * unit(draw_));
      batches_[0].as<float>()[i] = static_cast<float>(value);
    }
  }

  Model model_;
  std::vector<Tensor> batches_;
  std::mt19937 draw_{3};
};

TEST_F(Features, InWeightsAndBiasesGiveTheSameAnswers) {
  const Tensor before = answers_of(model_, batches_[0].view());
  const Tensor after =
      answers_of(with_feature_ranges(copy_of(model_), batches_), batches_[0].view());
  for (std::size_t i = 0; i < 3 * kExamples; ++i) {
    ASSERT_NEAR(after.as<float>()[i], before.as<float>()[i], 0.01) << i;
  }
}

TEST_F(Features, BecomeInt8InTheIntegerNetwork) {
  QuantizeSettings settings;
  settings.has_integer_features = true;
  const QuantizedModel quantized = quantize_model(model_, batches_, settings);
  Model integers = integer_twins_of(copy_of(quantized.fake)).integers;
  const double unit = double{integers.network.nodes.back().value.format.scaling.scale};
  const Engine engine(std::move(integers));
  ASSERT_EQ(engine.input().dtype, DType::i32);
  std::vector<std::int32_t> counts(4 * kExamples);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i] = static_cast<std::int32_t>(batches_[0].as<float>()[i]);
  }
  std::vector<std::byte> output(engine.output().bytes * kExamples);
  engine.run(std::as_bytes(std::span(counts)), kExamples, output);
  const Tensor exact = answers_of(quantized.folded, batches_[0].view());
  double signal = 0;
  double noise = 0;
  for (std::size_t i = 0; i < 3 * kExamples; ++i) {
    std::int32_t answer = 0;
    ASSERT_EQ(engine.output().dtype, DType::i32);
    std::memcpy(&answer, &output[4 * i], 4);
    const double real = unit * answer;
    signal += std::pow(double{exact.as<float>()[i]}, 2);
    noise += std::pow(double{exact.as<float>()[i]} - real, 2);
  }
  EXPECT_GT(10 * std::log10(signal / noise), 35);
}

TEST_F(Features, OfAPictureOrWithoutALinearLayerAreRefused) {
  Model picture;
  picture.network = parse_network(
      "name = \"p\"\ninput = [4, 4, 1]\nlayers = [{ op = \"flatten\" }, { op = \"linear\", "
      "features = 2 }]",
      "p");
  EXPECT_THAT(error_of([&] { with_feature_ranges(std::move(picture), batches_); }),
              testing::HasSubstr("shape: got (4, 4, 1), expected features"));
  Model relu;
  relu.network = parse_network(
      "name = \"r\"\ninput = [4]\nlayers = [{ op = \"relu\", name = \"r\" }, { op = \"linear\", "
      "features = 2 }]",
      "r");
  EXPECT_THAT(error_of([&] { with_feature_ranges(std::move(relu), batches_); }),
              testing::HasSubstr("'r' (relu): input: got features, expected a linear layer"));
}

}  // namespace
}  // namespace nibble::inline quantization
