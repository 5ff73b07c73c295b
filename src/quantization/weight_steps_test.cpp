// SPDX-License-Identifier: Apache-2.0
#include "quantization/weight_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quantization/quantize_test_support.h"

namespace nibble::inline quantization {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor weights_of(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor(DType::f32, shape);
  std::ranges::copy(values, tensor.as<float>().begin());
  return tensor;
}

double error_with(std::span<const float> weights, float step, const IntegerGrid& grid) {
  double sum = 0;
  for (const float w : weights) {
    const double r = static_cast<double>(w) - static_cast<double>(fake_quantized(w, step, grid));
    sum += r * r;
  }
  return sum;
}

TEST(WeightSteps, MaxCoversEachChannelOrAll) {
  const Tensor weight = weights_of({2, 2}, {-127, 3, 12.7F, 1});
  EXPECT_THAT(weight_steps("conv1", weight.view(), true, {-127, 127}, WeightMethod::max),
              ElementsAre(1.0F, 0.1F));
  EXPECT_THAT(weight_steps("conv1", weight.view(), false, {-127, 127}, WeightMethod::max),
              ElementsAre(1.0F));
}

TEST(WeightSteps, BothEndsOfAnUnevenGridAreCovered) {
  const Tensor weight = weights_of({2, 2}, {-16, 7, -8, 14});
  EXPECT_THAT(weight_steps("conv1", weight.view(), true, {-8, 7}, WeightMethod::max),
              ElementsAre(2.0F, 2.0F));
}

TEST(WeightSteps, ChannelsOfZerosTakeTheLargestStep) {
  const Tensor weight = weights_of({3, 1}, {0, 127, -254});
  for (const WeightMethod method : {WeightMethod::max, WeightMethod::mse}) {
    EXPECT_THAT(weight_steps("conv1", weight.view(), true, {-127, 127}, method),
                ElementsAre(2.0F, 1.0F, 2.0F));
  }
  const Tensor zeros = weights_of({2, 1}, {0, 0});
  EXPECT_THAT(weight_steps("conv1", zeros.view(), true, {-127, 127}, WeightMethod::max),
              ElementsAre(1.0F, 1.0F));
}

TEST(WeightSteps, MseIsTheBestOfManySteps) {
  Tensor weight(DType::f32, {3, 5, 5, 13});
  const auto values = weight.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = normal_value(i);
  const std::size_t row = values.size() / 3;
  for (const IntegerGrid& grid : {IntegerGrid{-127, 127}, {-8, 7}, {-4, 3}, {-2, 1}, {-1, 1}}) {
    const auto widest = weight_steps("conv1", weight.view(), true, grid, WeightMethod::max);
    const auto steps = weight_steps("conv1", weight.view(), true, grid, WeightMethod::mse);
    for (std::size_t c = 0; c < 3; ++c) {
      const auto channel = values.subspan(c * row, row);
      const double found = error_with(channel, steps[c], grid);
      for (int k = 20; k <= 100; ++k) {
        const float step = widest[c] * static_cast<float>(k) / 100;
        EXPECT_LE(found, error_with(channel, step, grid) * 1.0001) << grid.high << " " << k;
      }
    }
    if (grid.high < 8) {
      EXPECT_LT(steps[0], widest[0]);
    }
  }
}

TEST(WeightSteps, WhatCannotBeIsRefused) {
  const Tensor weight = weights_of({1, 2}, {1, NAN});
  EXPECT_THAT(error_of([&] {
                weight_steps("conv1", weight.view(), true, {-8, 7}, WeightMethod::max);
              }),
              HasSubstr("weights of conv1: got NaN or infinity"));
  EXPECT_THAT(error_of([&] {
                weight_steps("conv1", weight.view(), true, {0, 7}, WeightMethod::max);
              }),
              HasSubstr("grid of weights of conv1: got 0 to 7"));
}

}  // namespace
}  // namespace nibble::inline quantization
