// SPDX-License-Identifier: Apache-2.0
// Tests of fixed point and integers: every code, every midpoint, both bounds.
#include "numerics/element_families.h"

#include <gtest/gtest.h>

#include "nibble/core/error.h"
#include "nibble/numerics/format.h"
#include "numerics/test_number_line.h"

namespace nibble::inline numerics {
namespace {

GridElement grid(std::string_view text) {
  return std::get<GridElement>(parse_format(text).element);
}

// n · 2^-fl for every n of the word, in ascending order, with its two's complement code.
std::vector<LinePoint> places_of(const GridElement& g) {
  const int lowest = g.is_signed ? -(1 << (g.bits - 1)) + (g.is_symmetric ? 1 : 0) : 0;
  const int count = (1 << g.bits) - (g.is_symmetric ? 1 : 0);
  std::vector<LinePoint> places;
  for (int n = lowest; n < lowest + count; ++n) {
    const double value = n * std::exp2(-g.fraction_bits);
    places.push_back({value, static_cast<std::uint32_t>(n) & ((1U << g.bits) - 1), value});
  }
  return places;
}

testing::AssertionResult is_a_grid(const GridElement& g) {
  const std::vector<LinePoint> places = places_of(g);
  for (const LinePoint& place : places) {
    const auto result = stays(g, place.value, place.code);
    if (!result) return result;
  }
  const std::size_t stride = places.size() > 4096 ? 5 : 1;
  for (std::size_t i = 0; i + 1 < places.size(); i += stride) {
    const double middle = (places[i].value + places[i + 1].value) / 2;
    const auto result = gap_rounds_as_expected(g, {places[i], places[i + 1], middle});
    if (!result) return result;
  }
  const double top = places.back().value;
  const double bottom = places.front().value;
  for (const RoundingMode mode : kExactModes) {
    for (const double excess : {0.25 * g.step(), 0.5 * g.step(), 3 * g.step(), 1e300, kInfinity}) {
      if (round_to(g, top + excess, {mode}) != top ||
          round_to(g, bottom - excess, {mode}) != bottom) {
        return testing::AssertionFailure() << "beyond the bounds by " << excess;
      }
    }
  }
  return testing::AssertionSuccess();
}

TEST(GridElement, EveryCodeAndMidpointOfEveryWordLengthGoesWhereItMust) {
  for (int bits = 1; bits <= 10; ++bits) {
    for (const int fraction_bits : {-3, 0, bits - 1, bits + 4}) {
      for (const bool is_symmetric : {false, true}) {
        if (bits == 1 && is_symmetric) continue;
        const GridElement g{.bits = bits,
                            .fraction_bits = fraction_bits,
                            .is_symmetric = is_symmetric,
                            .is_integer = false};
        ASSERT_TRUE(is_a_grid(g)) << to_string(Format{g, {}});
      }
    }
  }
}

TEST(GridElement, EveryCodeOfSixteenBitsGoesWhereItMust) {
  for (const char* text : {"fixed(16,8)", "int16", "uint16", "int16(symmetric)", "fixed(14,20)"}) {
    ASSERT_TRUE(is_a_grid(grid(text))) << text;
  }
}

TEST(GridElement, EveryIntegerFormatIsAGrid) {
  for (int bits = 2; bits <= 9; ++bits) {
    for (const char* name : {"int", "uint"}) {
      ASSERT_TRUE(is_a_grid(grid(name + std::to_string(bits)))) << name << bits;
    }
  }
}

TEST(GridElement, BoundsAreThoseOfTwosComplement) {
  const ElementInfo fixed = describe(grid("fixed(8,4)"));
  EXPECT_EQ(fixed.max, 7.9375);
  EXPECT_EQ(fixed.lowest, -8);
  EXPECT_EQ(fixed.min_positive, 0.0625);
  EXPECT_EQ(describe(grid("fixed(8,4,symmetric)")).lowest, -7.9375);
  EXPECT_EQ(describe(grid("uint4")).max, 15);
  EXPECT_EQ(describe(grid("uint4")).lowest, 0);
  const ElementInfo mx = describe(parse_format("mxint8").element);
  EXPECT_EQ(mx.max, 127.0 / 64);
  EXPECT_EQ(mx.lowest, -127.0 / 64);
  EXPECT_EQ(mx.min_positive, 1.0 / 64);
}

TEST(GridElement, ValuesThatNeedMoreThan24BitsAreNotFp32Values) {
  EXPECT_TRUE(describe(grid("fixed(25,0)")).decodes_to_fp32);
  EXPECT_FALSE(describe(grid("fixed(26,0)")).decodes_to_fp32);
  EXPECT_FALSE(describe(grid("fixed(32,31)")).quantizes_fp32);
  EXPECT_TRUE(describe(grid("fixed(32,31,clamp=off)")).quantizes_fp32);
  EXPECT_FALSE(describe(grid("fixed(8,-126)")).decodes_to_fp32);
}

TEST(GridElement, ThereIsOneZero) {
  for (const double x : {0.0, -0.0, -0.01, -1e-300}) {
    EXPECT_TRUE(is_same(round_to(grid("fixed(8,4)"), x, {}), 0.0)) << x;
    EXPECT_TRUE(is_same(round_to(grid("int8"), x, {RoundingMode::toward_zero}), 0.0)) << x;
    EXPECT_TRUE(is_same(round_to(grid("fixed(8,4,clamp=off)"), x, {RoundingMode::up}), 0.0)) << x;
  }
}

TEST(GridElement, WithoutClampingNothingBoundsTheValue) {
  const GridElement g = grid("fixed(4,2,clamp=off)");
  EXPECT_EQ(round_to(g, 1e6 + 0.125, {}), 1e6);
  EXPECT_EQ(round_to(g, -1e6 - 0.126, {}), -1e6 - 0.25);
  EXPECT_EQ(round_to(g, 1.7e308, {}), 1.7e308);
  EXPECT_EQ(round_to(g, -kInfinity, {}), -kInfinity);
  EXPECT_THROW(encode_value(g, 1e6), Error);
}

TEST(GridElement, NegativesOfAnUnsignedGridAreZero) {
  EXPECT_TRUE(is_same(round_to(grid("uint8"), -3, {}), 0.0));
  EXPECT_TRUE(is_same(round_to(grid("uint8"), -kInfinity, {}), 0.0));
}

TEST(GridElement, NanStaysNanAndHasNoCode) {
  EXPECT_TRUE(std::isnan(round_to(grid("int8"), std::nan(""), {})));
  EXPECT_THROW(encode_value(grid("int8"), std::nan("")), Error);
}

TEST(GridElement, StochasticMovesByExactlyTheDiscardedFraction) {
  for (int i = 0; i < 64; ++i) {
    const auto expected = static_cast<std::uint32_t>(i * 16 / 64);
    EXPECT_EQ(draws_that_move(grid("int8"), 5 + i / 64.0, 5, 4), expected);
    EXPECT_EQ(draws_that_move(grid("fixed(8,4)"), -(5 + i / 64.0) / 16, -5.0 / 16, 4), expected);
  }
}

TEST(GridElement, TheMeanOfStochasticRoundingIsBelowTheValueByLessThanOneDrawStep) {
  for (const double x : {0.3, 1.0 / 3, 2.7182818, 6.0001}) {
    const std::uint32_t moved = draws_that_move(grid("int4"), x, std::floor(x), 12);
    const double mean = std::floor(x) + moved * 0x1p-12;
    EXPECT_LE(mean, x);
    EXPECT_GT(mean, x - 0x1p-12);
  }
}

TEST(GridElement, ImpossibleWordLengthsAreRefused) {
  for (const char* text :
       {"fixed(0,0)", "fixed(33,0)", "fixed(8,150)", "fixed(8,-127)", "int1", "int17", "uint0",
        "fixed(1,0,symmetric)", "bfp(1)", "bfp(-2147483648)"}) {
    EXPECT_THROW(parse_format(text), Error) << text;
  }
}

}  // namespace
}  // namespace nibble::inline numerics
