// SPDX-License-Identifier: Apache-2.0
// Answers of float networks and the values on the way.
#include "nibble/float_training/forward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/test_support.h"
#include "float_training/test_models.h"
#include "float_training/test_networks.h"

namespace nibble::inline float_training {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor batch_of(std::int64_t images) {
  Tensor batch(DType::f32, Shape{images, 8, 8, 1});
  const auto values = batch.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::abs(test_value(1, i));
  return batch;
}

TEST(FloatForward, AnswersAlikeWhetherMadeOnceOrEachTime) {
  const Model model = quantized_digits(float_digits(0));
  FloatForward forward(model);
  for (const std::int64_t images : {3, 1, 5}) {
    const Tensor batch = batch_of(images);
    const Tensor once = forward.answers(batch.view());
    EXPECT_EQ(once.shape(), (Shape{images, 10}));
    EXPECT_TRUE(std::ranges::equal(once.as<float>(), answers_of(model, batch.view()).as<float>()));
  }
}

TEST(FloatForward, TheWatcherSeesEveryValueInOrder) {
  const Model model = float_digits(0);
  const Tensor batch = batch_of(2);
  FloatForward forward(model);
  std::vector<std::size_t> seen;
  (void)forward.answers(batch.view(), [&](std::size_t node, ConstTensorView value) {
    EXPECT_EQ(value.shape()[0], 2);
    seen.push_back(node);
  });
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 3, 4, 5));
  seen.clear();
  (void)forward.answers(batch.view());
  EXPECT_TRUE(seen.empty()) << "the watcher is of one call";
}

TEST(FloatForward, ValuesBehindSteps) {
  const Model model = quantized_digits(float_digits(0));
  const std::size_t rounded = find_node(model.network, "q1");
  const Tensor batch = batch_of(2);
  (void)answers_of(model, batch.view(), [&](std::size_t node, ConstTensorView value) {
    if (node != rounded) return;
    for (const float x : value.as<float>()) {
      const float n = x / (2.0F / 15);
      EXPECT_NEAR(n, std::round(n), 1e-5);
      EXPECT_LE(n, 15.001F);
    }
  });
}

TEST(FloatForward, RefusesABatchOfAnotherShape) {
  const Model model = float_digits(0);
  const Tensor batch(DType::f32, Shape{2, 8, 7, 1});
  EXPECT_THAT(error_of([&] { answers_of(model, batch.view()); }),
              HasSubstr("expected examples of (8, 8, 1)"));
}

}  // namespace
}  // namespace nibble::inline float_training
