// SPDX-License-Identifier: Apache-2.0
// From bytes and floats to mantissas.
#include "integer_training/integer_batcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "integer_training/integer_run_test_support.h"

namespace nibble::inline integer_training {
namespace {

using ::testing::ElementsAre;

std::vector<int> spots(const InputScale& scale, std::size_t channel,
                       std::initializer_list<std::size_t> bytes) {
  std::vector<int> values;
  for (const std::size_t byte : bytes) values.push_back(scale.tables[channel * 256 + byte]);
  return values;
}

Dataset no_pictures(const Shape& picture) {
  return {.name = {},
          .images = Tensor(DType::u8, {1, picture[0], picture[1], picture[2]}),
          .labels = {},
          .class_names = {},
          .targets = {}};
}

TEST(InputScale, OfCifar10HasTheReferencesTable) {
  const Input input{.shape = {32, 32, 3},
                    .mean = {0.49139968F, 0.48215827F, 0.44653124F},
                    .deviation = {0.24703233F, 0.24348505F, 0.26158768F}};
  const InputScale scale = input_scale(input, no_pictures({32, 32, 3}));
  EXPECT_EQ(scale.exponent, -5);
  ASSERT_EQ(scale.tables.size(), 3U * 256U);
  EXPECT_THAT(spots(scale, 0, {0, 64, 128, 192, 255}), ElementsAre(-64, -31, 1, 34, 66));
  EXPECT_THAT(spots(scale, 1, {0, 64, 128, 192, 255}), ElementsAre(-63, -30, 3, 36, 68));
  EXPECT_THAT(spots(scale, 2, {0, 64, 128, 192, 255}), ElementsAre(-55, -24, 7, 37, 68));
}

TEST(InputScale, OfMnistHasTheReferencesTable) {
  const Input input{.shape = {28, 28, 1}, .mean = {0.1307F}, .deviation = {0.3081F}};
  const InputScale scale = input_scale(input, no_pictures({28, 28, 1}));
  EXPECT_EQ(scale.exponent, -5);
  EXPECT_THAT(spots(scale, 0, {0, 128, 255}), ElementsAre(-14, 39, 90));
}

// Bytes as they are: 255 stands for 1, which is 2^7 units of 2^-7 and is held at 127.
TEST(InputScale, APowerOfTwoAtTheTopIsHeldAt127) {
  const InputScale scale =
      input_scale({.shape = {1, 1, 1}, .mean = {}, .deviation = {}}, no_pictures({1, 1, 1}));
  EXPECT_EQ(scale.exponent, -7);
  EXPECT_THAT(spots(scale, 0, {0, 1, 254, 255}), ElementsAre(0, 1, 127, 127));
}

TEST(InputScale, OfFloatsIsThatOfTheLargest) {
  Dataset data = no_pictures({1, 1, 4});
  data.images = Tensor(DType::f32, {2, 1, 1, 4});
  std::ranges::copy(
      std::initializer_list<float>{0.5F, -3.0F, 0.015625F, 0, 1, 2.5F, -0.05F, 0.046875F},
      data.images.as<float>().begin());
  data.targets = Tensor(DType::f32, {2, 2});
  std::ranges::copy(std::initializer_list<float>{1, -2.5F, 0.25F, 1e9F},
                    data.targets.as<float>().begin());
  const InputScale scale = input_scale({.shape = {4}, .mean = {}, .deviation = {}}, data);
  EXPECT_EQ(scale.exponent, -5);
  EXPECT_TRUE(scale.tables.empty());
  IntegerBatcher batcher(data, scale, 2);
  const std::vector<std::int32_t> order = {1, 0};
  const IntegerBatch batch = batcher.load(order, {}, {});
  EXPECT_EQ(batch.input.exponent, -5);
  const auto row = [&](std::size_t image) {
    const auto four = batch.input.mantissas.subspan(image * 4, 4);
    return std::vector<int>(four.begin(), four.end());
  };
  EXPECT_THAT(row(0), ElementsAre(32, 80, -2, 2));  // halves away from zero
  EXPECT_THAT(row(1), ElementsAre(16, -96, 1, 0));
  EXPECT_THAT(batch.targets, ElementsAre(16384, 2147483647, 65536, -163840));
}

TEST(IntegerBatcher, RanksCutABatchInOrder) {
  const TrainingData data = made_up_data({3, 2, 3}, 50, 4);
  const InputScale scale =
      input_scale({.shape = {3, 2, 3}, .mean = {}, .deviation = {}}, data.train);
  std::vector<std::int32_t> order(37);
  std::iota(order.rbegin(), order.rend(), 5);
  const AugmentOptions augment{.padding = 1, .has_flip = true};
  const auto plain = [&](const IntegerBatch& batch, std::int64_t image, std::int64_t pixel) {
    const auto three =
        batch.input.bytes.subspan(static_cast<std::size_t>(image * 6 + pixel) * 3, 3);
    return std::vector<int>(three.begin(), three.end());
  };
  IntegerBatcher batcher(data.train, scale, 10);
  const IntegerBatch whole = batcher.load(order, augment, {3, 7});
  EXPECT_EQ(whole.input.images, 37);
  for (const std::int64_t size : {1, 2, 3, 4, 37, 40}) {
    std::int64_t next = 0;
    for (std::int64_t rank = 0; rank < size; ++rank) {
      IntegerBatcher own(data.train, scale, 10);
      const IntegerBatch part = own.load(order, augment, {3, 7}, {rank, size});
      EXPECT_EQ(part.first_image, next);
      EXPECT_EQ(part.all_images, 37);
      for (std::int64_t i = 0; i < part.input.images; ++i, ++next) {
        EXPECT_EQ(part.labels[static_cast<std::size_t>(i)],
                  whole.labels[static_cast<std::size_t>(next)]);
        for (std::int64_t pixel = 0; pixel < 6; ++pixel)
          EXPECT_EQ(plain(part, i, pixel), plain(whole, next, pixel));
      }
    }
    EXPECT_EQ(next, 37);
  }
}

}  // namespace
}  // namespace nibble::inline integer_training
