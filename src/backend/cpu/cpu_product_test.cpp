// SPDX-License-Identifier: Apache-2.0
// Convolution and linear layers against plain loops, bit for bit, on every path and thread count.
#include <gtest/gtest.h>

#include <ostream>

#include "backend/backend_test_support.h"

namespace nibble::inline backend {
namespace {

using reference::Block;

struct Case {
  std::string_view name;
  Op op;
  Picture input;
  std::int64_t images = 16;
  int exponent = -7;
  bool is_largest =
      false;  // all numbers are 127 or, in every other output, -127: sums do not cancel
};

std::ostream& operator<<(std::ostream& stream, const Case& each) {
  return stream << each.name;
}

// What a layer gave and left.
struct Outcome {
  Block value;
  Block input_error;
  std::vector<std::vector<std::int8_t>> weights;
};

class Products : public ::testing::TestWithParam<Case> {
 protected:
  Products() : draws_(99) {
    const Case& param = GetParam();
    input_ = random_block(param.input, param.images, param.exponent, draws_);
    conv_ = reference::convolution_of(param.op, param.input);
    output_ = reference::picture_after({conv_.kernel, conv_.stride, conv_.padding, conv_.dilation},
                                       param.input, conv_.channels);
    error_ = random_block(output_, param.images, -3, draws_);
    const WeightShape& shape = product().weight;
    weights_.push_back({random_mantissas(static_cast<std::size_t>(shape.elements()), draws_), -8});
    if (conv_.has_bias)
      weights_.push_back({random_mantissas(static_cast<std::size_t>(shape.out), draws_), -10});
    if (param.is_largest) make_largest();
  }

  void make_largest() {
    const auto outputs = static_cast<std::size_t>(output_.channels);
    const auto largest = [](std::size_t output) {
      return static_cast<std::int8_t>(output % 2 == 0 ? 127 : -127);
    };
    std::ranges::fill(input_.data, std::int8_t{127});
    for (std::size_t i = 0; i < error_.data.size(); ++i) error_.data[i] = largest(i % outputs);
    std::vector<std::int8_t>& weights = weights_[0].mantissas;
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = largest(i / (weights.size() / outputs));
  }

  ProductCase product() const {
    const SlidingWindow window{conv_.kernel, conv_.stride, conv_.padding, conv_.dilation};
    return {window,
            {.out = conv_.channels,
             .taps = window.taps(),
             .in = input_.picture.channels / conv_.groups,
             .groups = conv_.groups},
            input_.picture,
            output_};
  }

  Outcome by_definition() const {
    const reference::Weight* bias = conv_.has_bias ? &weights_[1] : nullptr;
    Outcome outcome{reference::convolve(conv_, input_, weights_[0], bias),
                    reference::error_of_convolution(conv_, input_, weights_[0], error_),
                    {weights_[0].mantissas}};
    reference::move(outcome.weights[0], reference::gradient_of_convolution(conv_, input_, error_),
                    kMu);
    if (bias == nullptr) return outcome;
    outcome.weights.push_back(bias->mantissas);
    reference::move(outcome.weights[1], reference::gradient_of_bias(error_), kBiasMu);
    return outcome;
  }

  Outcome by_backend(std::string_view name) const {
    Workplace place(name);
    IntegerBackend& backend = *place.backend;
    const std::unique_ptr<ProductOp> layer = backend.product(product());
    const WeightsCase weight_case{.name = "layer.weight", .shape = size_of(weights_[0])};
    const auto weight = place.weights(weight_case, weights_[0].mantissas, weights_[0].exponent);
    std::unique_ptr<Weights> bias;
    WeightsCase bias_case{.name = "layer.bias", .shape = {output_.channels}, .is_bias = true};
    if (conv_.has_bias)
      bias = place.weights(bias_case, weights_[1].mantissas, weights_[1].exponent);
    backend.begin({.is_training = true,
                   .update = ShiftUpdate{.mu = kMu, .bias_mu = kBiasMu},
                   .all_images = input_.images});
    const Values input = place.put(input_);
    const Values error = place.put(error_);
    const Values output = place.empty(output_, input_.images);
    const Values input_error = place.empty(input_.picture, input_.images);
    layer->forward(input, *weight, bias.get(), place.point(), output);
    layer->input_error(error, *weight, place.point(), input_error);
    const auto sums = backend.sums(weight_case);
    layer->weight_gradient(input, error, *sums);
    backend.update(*weight, *sums);
    Outcome outcome{place.get(output), place.get(input_error), {mantissas_of(*weight)}};
    if (bias == nullptr) return outcome;
    const auto bias_sums = backend.sums(bias_case);
    backend.bias_gradient(error, *bias_sums);
    backend.update(*bias, *bias_sums);
    outcome.weights.push_back(mantissas_of(*bias));
    return outcome;
  }

  static Shape size_of(const reference::Weight& weight) {
    return {static_cast<std::int64_t>(weight.mantissas.size())};
  }

  static constexpr int kMu = 5;
  static constexpr int kBiasMu = 3;

  Draws draws_;
  Conv2d conv_;
  Picture output_;
  Block input_;
  Block error_;
  std::vector<reference::Weight> weights_;
};

TEST_P(Products, AreTheDefinition) {
  const Outcome wanted = by_definition();
  const auto expect_wanted = [&](const Outcome& got) {
    expect_same(got.value, wanted.value, "values");
    expect_same(got.input_error, wanted.input_error, "errors");
    EXPECT_EQ(got.weights, wanted.weights);
  };
  expect_wanted(by_backend("reference"));
  on_every_path([&] { expect_wanted(by_backend("cpu")); });
  for (const std::string& name : more_backends()) expect_wanted(by_backend(name));
}

Conv2d square(std::int64_t channels, std::int64_t kernel, std::int64_t stride = 1,
              std::int64_t padding = 0, std::int64_t dilation = 1, std::int64_t groups = 1,
              bool has_bias = false) {
  return {.channels = channels,
          .kernel = {kernel, kernel},
          .stride = {stride, stride},
          .padding = {padding, padding},
          .dilation = {dilation, dilation},
          .groups = groups,
          .has_bias = has_bias};
}

const Case kCases[] = {
    {"OneTap", square(5, 1), {4, 3, 3}, 1},
    {"OneTapStride2", square(20, 1, 2), {5, 4, 5}, 15},
    {"Kernel2", square(3, 2), {4, 4, 20}, 17},
    {"Kernel2Stride3", square(7, 2, 3), {8, 7, 3}, 16},
    {"Kernel3Same", square(16, 3, 1, 1), {5, 4, 16}, 16},
    {"Kernel3SameOfOddChannels", square(5, 3, 1, 1), {4, 5, 3}, 40},
    {"Kernel3Stride2", square(20, 3, 2, 1), {7, 6, 5}, 17},
    {"Kernel3Stride3", square(4, 3, 3, 0), {8, 7, 3}, 15},
    {"Kernel3Padding3", square(3, 3, 1, 3), {2, 1, 5}, 1},
    {"Kernel3Dilation2", square(6, 3, 1, 2, 2), {6, 5, 3}, 16},
    {"Kernel3Dilation3Stride2", square(5, 3, 2, 3, 3), {7, 8, 4}, 17},
    {"Kernel5Same", square(20, 5, 1, 2), {5, 5, 1}, 16},
    {"Kernel5Stride2", square(5, 5, 2, 1), {9, 8, 3}, 15},
    {"Groups2", square(6, 3, 1, 1, 1, 2), {4, 4, 10}, 16},
    {"Groups5Stride2", square(20, 3, 2, 1, 1, 5), {5, 5, 5}, 17},
    {"Depthwise", square(20, 3, 1, 1, 1, 20), {4, 4, 20}, 16},
    {"DepthwiseStride2Bias", square(21, 3, 2, 1, 1, 21, true), {7, 6, 21}, 33},
    {"GroupsOfFour", square(16, 3, 1, 1, 1, 4), {4, 5, 16}, 17},
    {"GroupsOfFourBias", square(24, 3, 2, 1, 1, 3, true), {5, 5, 12}, 40, 6},
    {"GroupsOfSixtyEight", square(136, 1, 1, 0, 1, 2), {2, 3, 136}, 16},
    {"DepthwiseTwice", square(6, 3, 2, 1, 1, 3), {5, 6, 3}, 40},
    {"Groups2OfThreeOneTap", square(10, 1, 1, 0, 1, 2), {3, 2, 6}, 1},
    {"Groups4OfSevenStride2", square(20, 3, 2, 1, 1, 4), {5, 4, 28}, 7},
    {"Groups9OfFiveKernel5", square(63, 5, 1, 2, 1, 9), {4, 3, 45}, 7},
    {"Groups4Stride2OneTap", square(12, 1, 2, 0, 1, 4), {5, 5, 20}, 64},
    {"DepthwiseKernel5", square(70, 5, 1, 2, 1, 70), {4, 3, 70}, 7},
    {"DepthwiseKernel5Stride2Bias", square(33, 5, 2, 2, 1, 33, true), {5, 4, 33}, 64},
    {"DepthwiseOneImage", square(100, 3, 1, 1, 1, 100), {3, 3, 100}, 1},
    {"Groups2OfForty", square(96, 3, 1, 1, 1, 2), {2, 2, 80}, 64},
    {"Groups2OfABlock", square(256, 1, 1, 0, 1, 2), {3, 2, 256}, 7},
    {"Groups3OfMoreThanABlock", square(390, 3, 1, 1, 1, 3), {2, 1, 390}, 7},
    {"MoreThanABlockOfColumns", square(70, 1), {2, 2, 67}, 16},
    {"Batch80", square(20, 3, 1, 1), {3, 3, 5}, 80},
    {"Rows",
     Conv2d{.channels = 5, .kernel = {1, 3}, .stride = {1, 2}, .padding = {0, 1}},
     {3, 6, 4},
     16},
    {"Columns",
     Conv2d{
         .channels = 3, .kernel = {3, 1}, .stride = {2, 1}, .padding = {1, 0}, .dilation = {2, 1}},
     {6, 3, 5},
     17},
    {"BiasBelowTheSums", square(5, 3, 1, 1, 1, 1, true), {4, 4, 3}, 16, 6},
    {"BiasAboveTheSums", square(5, 3, 1, 1, 1, 1, true), {4, 4, 3}, 17, -9},
    {"BiasFarAboveTheSums", square(5, 3, 1, 1, 1, 1, true), {4, 4, 3}, 17, -30},
    {"LinearOfAVector", Linear{.features = 10}, {1, 1, 33}, 40},
    {"LinearAfterFlatten", Linear{.features = 10}, {3, 4, 5}, 17},
    {"LinearAfterFlattenOf1", Linear{.features = 3}, {4, 4, 1}, 1},
    {"LinearBias", Linear{.features = 70, .has_bias = true}, {1, 1, 20}, 80},
    // Sums of more terms than 32 bits hold (kSafeTerms): of values, of errors and of gradients.
    {"LinearOfManyInputs", Linear{.features = 3}, {1, 1, 140'000}, 3, -7, true},
    {"LinearOfManyOutputs", Linear{.features = 140'000}, {1, 1, 3}, 3, -7, true},
    {"ManyPixels", square(3, 1), {24, 24, 2}, 240, -7, true},
    {"GroupsOfManyInputs", square(4, 24, 1, 0, 1, 2), {24, 24, 480}, 1, -7, true},
    {"ManyPixelsOfGroups", square(4, 1, 1, 0, 1, 2), {24, 24, 6}, 240, -7, true},
};

INSTANTIATE_TEST_SUITE_P(All, Products, ::testing::ValuesIn(kCases),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace nibble::inline backend
