// SPDX-License-Identifier: Apache-2.0
// Sums wider than 32 bits: forced by a small bound, and real ones.
#include "backend/cpu/gather_product.h"

#include <gtest/gtest.h>

#include "backend/cpu/block_test_support.h"
#include "backend/cpu/weight_gradient.h"

namespace nibble::inline backend {
namespace {

using reference::Block;

const Conv2d kConv{.channels = 9, .kernel = {3, 3}, .stride = {2, 1}, .padding = {1, 1}};
constexpr Picture kInput{5, 4, 6};
constexpr Picture kOutput{3, 4, 9};
constexpr std::int64_t kImages = 37;
const SlidingWindow kWindow{kConv.kernel, kConv.stride, kConv.padding, kConv.dilation};
constexpr WeightShape kShape{.out = 9, .taps = 9, .in = 6};

reference::Sums values_of(const GradientSums& sums) {
  if (sums.is_wide) return sums.wide;
  return {sums.narrow.begin(), sums.narrow.end()};
}

TEST(GatherProduct, WideSumsGiveWhatNarrowOnesGive) {
  Draws draws(1);
  const Block input = random_block(kInput, kImages, 0, draws);
  const auto weights = random_mantissas(static_cast<std::size_t>(kShape.elements()), draws);
  const Block wanted = reference::convolve(kConv, input, {weights, 0}, nullptr);
  on_every_path([&] {
    const TapMap meetings = TapMap::forward(kWindow, kInput, kOutput);
    PackedWeights packed(kShape, PackedWeights::Direction::forward);
    packed.pack(weights);
    const OwnBlock source(input);
    for (const std::int64_t safe :
         {kSafeTerms, std::int64_t{40}, std::int64_t{8}, std::int64_t{1}}) {
      SCOPED_TRACE(safe);
      OwnBlock result(kOutput, kImages);
      const GatherProduct product{.meetings = meetings,
                                  .weights = packed,
                                  .source = source.tensor(),
                                  .result = result.tensor(),
                                  .first_image = 0,
                                  .safe_terms = safe};
      EXPECT_EQ(product.is_wide(), safe < 72);
      const SumsOutcome outcome = product.run({wanted.exponent, ShiftRounding::nearest, {}});
      EXPECT_EQ(outcome.elements, kImages * kOutput.elements());
      EXPECT_EQ(shift_for(outcome.largest), wanted.exponent);
      result.tensor().exponent = wanted.exponent;
      expect_same(plain(result.tensor()), wanted, "values");
    }
  });
}

TEST(GatherProduct, AnAddendThatCouldOverflowMakesItWide) {
  const TapMap meetings = TapMap::forward(kWindow, kInput, kOutput);
  const PackedWeights packed(kShape, PackedWeights::Direction::forward);
  const BlockTensor none;
  const std::int64_t room = INT32_MAX - 9 * 8 * 127 * 127;
  for (const std::int64_t sign : {-1, 1}) {
    std::vector<std::int64_t> addend(9, 0);
    GatherProduct product{.meetings = meetings,
                          .weights = packed,
                          .source = none,
                          .result = none,
                          .first_image = 0,
                          .addend = addend};
    addend[4] = sign * room;
    EXPECT_FALSE(product.is_wide());
    addend[4] = sign * (room + 1);
    EXPECT_TRUE(product.is_wide());
    addend[4] = 0;
    product.lift = 1;
    EXPECT_TRUE(product.is_wide());
  }
}

TEST(WeightGradient, WideSumsGiveWhatNarrowOnesGive) {
  Draws draws(2);
  const Block input = random_block(kInput, kImages, 0, draws);
  const Block error = random_block(kOutput, kImages, 0, draws);
  const reference::Sums wanted = reference::gradient_of_convolution(kConv, input, error);
  on_every_path([&] {
    const TapMap meetings = TapMap::forward(kWindow, kInput, kOutput);
    const OwnBlock own_input(input);
    const OwnBlock own_error(error);
    for (const std::int64_t safe : {kSafeTerms, std::int64_t{100}, std::int64_t{1}}) {
      SCOPED_TRACE(safe);
      GradientSums sums;
      WeightGradient{.meetings = meetings,
                     .shape = kShape,
                     .input = own_input.tensor(),
                     .error = own_error.tensor(),
                     .all_images = kImages,
                     .safe_terms = safe}
          .run(sums);
      EXPECT_EQ(sums.is_wide, safe != kSafeTerms);
      EXPECT_EQ(values_of(sums), wanted);
      EXPECT_EQ(sums.largest(), static_cast<std::uint64_t>(reference::largest(wanted)));
    }
  });
}

// More rows, columns, images and terms than one tile, block, bundle and thread have.
TEST(WeightGradient, PartsGiveTheWhole) {
  constexpr Picture kIn{4, 4, 70};
  constexpr Picture kOut{4, 4, 20};
  constexpr std::int64_t kMany = 150;
  const Conv2d conv{.channels = 20, .kernel = {3, 3}, .padding = {1, 1}};
  const WeightShape shape{.out = 20, .taps = 9, .in = 70};
  Draws draws(4);
  const Block input = random_block(kIn, kMany, 0, draws);
  const Block error = random_block(kOut, kMany, 0, draws);
  const reference::Sums wanted = reference::gradient_of_convolution(conv, input, error);
  const TapMap meetings =
      TapMap::forward({.kernel = conv.kernel, .padding = conv.padding}, kIn, kOut);
  on_every_path([&] {
    const OwnBlock own_input(input);
    const OwnBlock own_error(error);
    GradientSums sums;
    for (const std::int64_t safe : {kSafeTerms, std::int64_t{1500}}) {
      for (const std::int64_t bytes : {kTurnedBytes, std::int64_t{1}}) {
        SCOPED_TRACE(std::to_string(safe) + " terms, " + std::to_string(bytes) + " bytes");
        WeightGradient{.meetings = meetings,
                       .shape = shape,
                       .input = own_input.tensor(),
                       .error = own_error.tensor(),
                       .all_images = kMany,
                       .safe_terms = safe,
                       .turned_bytes = bytes}
            .run(sums);
        EXPECT_EQ(values_of(sums), wanted);
      }
    }
  });
}

// 133,144 products of 127·127 are the most that an int32 holds.
TEST(WeightGradient, MoreTermsThanInt32HoldsAreExact) {
  constexpr Picture kPicture{2, 1041, 1};
  constexpr std::int64_t kMany = 64;  // 133,248 terms
  Block input{kPicture, kMany, 0, {}};
  Block error{kPicture, kMany, 0, {}};
  input.data.assign(input.size(), 127);
  error.data.assign(error.size(), -127);
  const std::int64_t terms = kMany * kPicture.pixels();
  ASSERT_GT(terms, kSafeTerms);
  const SlidingWindow window{};
  const TapMap meetings = TapMap::forward(window, kPicture, kPicture);
  const WeightShape shape{.out = 1, .taps = 1, .in = 1};
  on_every_path([&] {
    const OwnBlock own_input(input);
    const OwnBlock own_error(error);
    GradientSums sums;
    WeightGradient{meetings, shape, own_input.tensor(), own_error.tensor(), kMany}.run(sums);
    ASSERT_TRUE(sums.is_wide);
    EXPECT_EQ(sums.wide, reference::Sums{-terms * 127 * 127});
    EXPECT_LT(sums.wide[0], std::int64_t{INT32_MIN});
  });
}

TEST(WeightGradient, TheImagesOfAllRanksDecideTheWidth) {
  Draws draws(3);
  const Block input = random_block({1, 1, 3}, 4, 0, draws);
  const Block error = random_block({1, 1, 2}, 4, 0, draws);
  const OwnBlock own_input(input);
  const OwnBlock own_error(error);
  const TapMap meetings = TapMap::forward({}, input.picture, error.picture);
  const WeightShape shape{.out = 2, .taps = 1, .in = 3};
  for (const std::int64_t all : {kSafeTerms, kSafeTerms + 1}) {
    GradientSums sums;
    WeightGradient{meetings, shape, own_input.tensor(), own_error.tensor(), all}.run(sums);
    EXPECT_EQ(sums.is_wide, all > kSafeTerms);
    EXPECT_EQ(values_of(sums),
              reference::gradient_of_convolution({.channels = 2, .kernel = {1, 1}}, input, error));
  }
}

TEST(WeightGradient, ARankWithoutImagesAddsZeros) {
  const Picture picture{2, 2, 3};
  const OwnBlock nothing(picture, 0);
  const TapMap meetings = TapMap::forward({}, picture, picture);
  const WeightShape shape{.out = 3, .taps = 1, .in = 3};
  GradientSums sums{false, {1, 2, 3}, {}};
  WeightGradient{meetings, shape, nothing.tensor(), nothing.tensor(), 5}.run(sums);
  EXPECT_EQ(values_of(sums), reference::Sums(9));
  bias_gradient(nothing.tensor(), 5, sums);
  EXPECT_EQ(values_of(sums), reference::Sums(3));
}

TEST(GatherProduct, ARankWithoutImagesHasNoSums) {
  const OwnBlock source(kInput, 0);
  const OwnBlock result(kOutput, 0);
  const TapMap meetings = TapMap::forward(kWindow, kInput, kOutput);
  const PackedWeights packed(kShape, PackedWeights::Direction::forward);
  const GatherProduct product{.meetings = meetings,
                              .weights = packed,
                              .source = source.tensor(),
                              .result = result.tensor(),
                              .first_image = 0};
  EXPECT_EQ(product.run({}).largest, 0U);
}

}  // namespace
}  // namespace nibble::inline backend
