// SPDX-License-Identifier: Apache-2.0
// Tests of augmentation: the formula of the header, its draws, and independence of threads.
#include "nibble/data/augment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/core/philox.h"

namespace nibble::inline data {
namespace {

constexpr std::int64_t kHeight = 7;
constexpr std::int64_t kWidth = 5;
constexpr std::int64_t kChannels = 3;
constexpr std::int64_t kImageBytes = kHeight * kWidth * kChannels;

// Bytes that tell where they are from, none of them 0.
Tensor images(std::int64_t count) {
  Tensor tensor(DType::u8, Shape{count, kHeight, kWidth, kChannels});
  const auto values = tensor.as<std::uint8_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::uint8_t>(1 + i * 37 % 199);
  }
  return tensor;
}

std::vector<std::int32_t> indices(std::int32_t count) {
  std::vector<std::int32_t> list(static_cast<std::size_t>(count));
  std::iota(list.rbegin(), list.rend(), 0);  // last image first
  return list;
}

std::vector<std::uint8_t> gathered(const Tensor& from, const std::vector<std::int32_t>& list,
                                   const AugmentOptions& options, const AugmentKey& key = {}) {
  Tensor batch(DType::u8,
               Shape{static_cast<std::int64_t>(list.size()), kHeight, kWidth, kChannels});
  gather_images(from.view(), list, options, key, batch.view());
  const auto values = batch.as<std::uint8_t>();
  return {values.begin(), values.end()};
}

// The text of the header, read literally.
std::uint8_t expected_value(const Tensor& from, std::int32_t image, const AugmentOptions& options,
                            const AugmentKey& key, std::int64_t y, std::int64_t x, std::int64_t c) {
  const auto u = [&](std::uint64_t k, std::uint64_t n) {
    const RandomKey random{.seed = key.seed, .stream = 0xDA7A0003u, .step = key.epoch};
    return static_cast<std::int64_t>(
        draw32(random, 8 * static_cast<std::uint64_t>(image) + k) * n >> 32);
  };
  const std::int64_t p = options.padding;
  const std::int64_t s = options.cutout;
  const std::int64_t cut_y = u(3, kHeight) - s / 2;
  const std::int64_t cut_x = u(4, kWidth) - s / 2;
  if (y >= cut_y && y < cut_y + s && x >= cut_x && x < cut_x + s) return options.fill;
  const std::int64_t turned = options.has_flip && u(2, 2) == 1 ? kWidth - 1 - x : x;
  const auto n = static_cast<std::uint64_t>(2 * p + 1);
  const std::int64_t from_y = y + u(0, n) - p;
  const std::int64_t from_x = turned + u(1, n) - p;
  if (from_y < 0 || from_y >= kHeight || from_x < 0 || from_x >= kWidth) return options.fill;
  return from.as<std::uint8_t>()[static_cast<std::size_t>(
      ((image * kHeight + from_y) * kWidth + from_x) * kChannels + c)];
}

TEST(GatherImages, WithoutOptionsIsACopyInTheAskedOrder) {
  const Tensor from = images(4);
  const auto got = gathered(from, {2, 0, 2}, {});
  const std::uint8_t* pixels = from.as<std::uint8_t>().data();
  for (const auto& [k, image] : {std::pair{0, 2}, std::pair{1, 0}, std::pair{2, 2}}) {
    EXPECT_TRUE(std::equal(got.begin() + k * kImageBytes, got.begin() + (k + 1) * kImageBytes,
                           pixels + image * kImageBytes));
  }
}

TEST(GatherImages, FollowsTheTextOfTheHeader) {
  const Tensor from = images(40);
  const std::vector<std::int32_t> list = indices(40);
  const AugmentKey key{.seed = 0xABCDEF0123456789, .epoch = 3};
  const std::array<AugmentOptions, 6> all = {{{.padding = 2},
                                              {.has_flip = true},
                                              {.cutout = 3},
                                              {.padding = 4, .has_flip = true, .cutout = 2},
                                              {.padding = 1, .cutout = 9, .fill = 200},
                                              {.padding = 30, .fill = 7}}};
  for (const AugmentOptions& options : all) {
    const auto got = gathered(from, list, options, key);
    std::size_t at = 0;
    for (const std::int32_t image : list) {
      for (std::int64_t y = 0; y < kHeight; ++y) {
        for (std::int64_t x = 0; x < kWidth; ++x) {
          for (std::int64_t c = 0; c < kChannels; ++c, ++at) {
            ASSERT_EQ(got[at], expected_value(from, image, options, key, y, x, c))
                << image << ' ' << y << ' ' << x << ' ' << c;
          }
        }
      }
    }
  }
}

TEST(GatherImages, FloatsAreMovedAsBytesAre) {
  const Tensor from = images(40);
  Tensor floats(DType::f32, from.shape());
  std::ranges::copy(from.as<std::uint8_t>(), floats.as<float>().begin());
  const std::vector<std::int32_t> list = indices(40);
  for (const AugmentOptions& options :
       {AugmentOptions{}, AugmentOptions{.padding = 2, .has_flip = true, .cutout = 3, .fill = 9}}) {
    const auto expected = gathered(from, list, options);
    Tensor batch(DType::f32, from.shape());
    gather_images(floats.view(), list, options, {}, batch.view());
    EXPECT_TRUE(std::ranges::equal(batch.as<float>(), expected));
  }
}

TEST(GatherImages, DependsOnTheImageNotOnItsPlaceOrTheThreads) {
  const Tensor from = images(100);
  const AugmentOptions options{.padding = 2, .has_flip = true, .cutout = 3};
  const auto alone = gathered(from, {17}, options);
  const auto many = gathered(from, indices(100), options);
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), many.begin() + (99 - 17) * kImageBytes));
  for (const int threads : {1, 2, 5}) {
    set_thread_count(threads);
    EXPECT_EQ(gathered(from, indices(100), options), many);
  }
  set_thread_count(0);
  EXPECT_NE(gathered(from, indices(100), options, {.epoch = 1}), many);
  EXPECT_NE(gathered(from, indices(100), options, {.seed = 1}), many);
}

TEST(DrawAugmentation, OptionsDoNotDisturbEachOther) {
  const AugmentOptions all{.padding = 4, .has_flip = true, .cutout = 3};
  for (std::int64_t image = 0; image < 50; ++image) {
    const Augmentation one = draw_augmentation(all, 32, 32, {}, image);
    const Augmentation crop = draw_augmentation({.padding = 4}, 32, 32, {}, image);
    const Augmentation flip = draw_augmentation({.has_flip = true}, 32, 32, {}, image);
    EXPECT_EQ(crop.shift_x, one.shift_x);
    EXPECT_EQ(crop.shift_y, one.shift_y);
    EXPECT_EQ(flip.is_flipped, one.is_flipped);
    EXPECT_FALSE(crop.is_flipped);
    EXPECT_EQ(flip.shift_x, 0);
  }
}

TEST(DrawAugmentation, EveryOutcomeHasItsShare) {
  constexpr int kImages = 9000;
  std::array<int, 9> rows{};
  std::array<int, 9> columns{};
  int flips = 0;
  for (std::int64_t image = 0; image < kImages; ++image) {
    const Augmentation drawn =
        draw_augmentation({.padding = 4, .has_flip = true}, 32, 32, {}, image);
    ++rows.at(static_cast<std::size_t>(std::int64_t{drawn.shift_y} + 4));
    ++columns.at(static_cast<std::size_t>(std::int64_t{drawn.shift_x} + 4));
    flips += drawn.is_flipped ? 1 : 0;
  }
  for (const int count : rows) EXPECT_NEAR(count, 1000, 130);
  for (const int count : columns) EXPECT_NEAR(count, 1000, 130);
  EXPECT_NEAR(flips, 4500, 200);
}

TEST(GatherImages, WrongCallsAreRefused) {
  const Tensor from = images(4);
  Tensor batch(DType::u8, Shape{1, kHeight, kWidth, kChannels});
  const std::vector<std::int32_t> two = {0, 1};
  const std::vector<std::int32_t> outside = {4};
  const std::vector<std::int32_t> negative = {-1};
  const std::vector<std::int32_t> fine = {3};
  EXPECT_NO_THROW(gather_images(from.view(), fine, {}, {}, batch.view()));
  EXPECT_THROW(gather_images(from.view(), two, {}, {}, batch.view()), Error);
  EXPECT_THROW(gather_images(from.view(), outside, {}, {}, batch.view()), Error);
  EXPECT_THROW(gather_images(from.view(), negative, {}, {}, batch.view()), Error);
  EXPECT_THROW(gather_images(from.view(), fine, {.padding = -1}, {}, batch.view()), Error);
  EXPECT_THROW(gather_images(from.view(), fine, {.cutout = -1}, {}, batch.view()), Error);
  Tensor floats(DType::f32, batch.shape());
  EXPECT_THROW(gather_images(from.view(), fine, {}, {}, floats.view()), Error);
  Tensor flat(DType::u8, Shape{4, 105});
  EXPECT_THROW(gather_images(flat.view(), fine, {}, {}, batch.view()), Error);
}

}  // namespace
}  // namespace nibble::inline data
