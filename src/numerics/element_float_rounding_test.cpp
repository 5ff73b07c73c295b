// SPDX-License-Identifier: Apache-2.0
// Tests of rounding to floats: every midpoint and its neighbours, overflow, specials, random bits.
#include <gtest/gtest.h>

#include "nibble/numerics/format.h"
#include "numerics/test_float_line.h"

namespace nibble::inline numerics {
namespace {

const double kAnyNaN = std::nan("");

FloatElement named(std::string_view name) {
  return std::get<FloatElement>(parse_format(name).element);
}

// Tests one gap in `stride`, always the first and the last ones.
testing::AssertionResult all_gaps_round(const FloatElement& f, std::size_t stride = 1) {
  const FloatLine line(f);
  for (const Overflow overflow : {Overflow::native, Overflow::saturate, Overflow::infinity}) {
    if (overflow == Overflow::infinity && !line.has_infinity()) continue;
    const bool to_infinity =
        overflow == Overflow::infinity ||
        (overflow == Overflow::native && line.has_infinity() && line.code_bits > 8);
    const std::vector<Gap> gaps = line.gaps(to_infinity ? kInfinity : line.max());
    for (std::size_t i = 0; i < gaps.size(); ++i) {
      if (i % stride != 0 && i + 4 < gaps.size()) continue;
      auto result = gap_rounds_as_expected(f, gaps[i], overflow);
      if (result && f.is_signed) result = gap_rounds_as_expected(f, mirrored(gaps[i]), overflow);
      if (!result) return result << " with overflow " << to_string(overflow);
    }
  }
  return testing::AssertionSuccess();
}

TEST(FloatRounding, MidpointsOfEverySplitUpToEightBitsAndTheirNeighboursGoWhereTheyMust) {
  for (const FloatElement& f : floats_up_to(8)) {
    ASSERT_TRUE(all_gaps_round(f)) << to_string(Format{f, {}});
  }
}

TEST(FloatRounding, MidpointsOfWideFormatsGoWhereTheyMust) {
  for (const char* name : {"fp16", "bf16", "e6m9", "e4m11", "p3109(16,11)", "e8m7fnuz"}) {
    ASSERT_TRUE(all_gaps_round(named(name), 7)) << name;
  }
  ASSERT_TRUE(all_gaps_round(named("e8m0b127")));
}

double rounded(std::string_view name, double x, Overflow overflow,
               RoundingMode mode = RoundingMode::nearest_even) {
  return round_to(named(name), x, {mode}, overflow);
}

TEST(FloatRounding, OverflowFollowsItsPolicy) {
  EXPECT_EQ(rounded("fp16", 65519.99, Overflow::native), 65504);
  EXPECT_EQ(rounded("fp16", 65520, Overflow::native), kInfinity);
  EXPECT_EQ(rounded("fp16", -1e300, Overflow::native), -kInfinity);
  EXPECT_EQ(rounded("fp16", 1e300, Overflow::saturate), 65504);
  EXPECT_TRUE(std::isnan(rounded("fp16", 65520, Overflow::nan)));
  EXPECT_EQ(rounded("e5m2", 1e9, Overflow::native), 57344);  // eight bits: saturates
  EXPECT_EQ(rounded("e5m2", 61440, Overflow::infinity), kInfinity);
  EXPECT_EQ(rounded("e4m3", 464, Overflow::nan), 448);  // the tie goes to the even code
  EXPECT_TRUE(std::isnan(rounded("e4m3", 464.01, Overflow::nan)));
  EXPECT_EQ(rounded("e4m3", 1e9, Overflow::native), 448);
  EXPECT_EQ(rounded("e2m1", -7, Overflow::native), -6);
  EXPECT_EQ(rounded("p3109(8,4)", 1e9, Overflow::infinity), kInfinity);
  EXPECT_EQ(rounded("p3109(16,11)", 1e9, Overflow::native), kInfinity);
}

TEST(FloatRounding, ADirectedRoundingStopsAtTheLargestValueWhereItPointsInward) {
  for (const double x : {65505.0, 1e6, 1e300, 1.7e308}) {
    EXPECT_EQ(rounded("fp16", x, Overflow::native, RoundingMode::toward_zero), 65504);
    EXPECT_EQ(rounded("fp16", -x, Overflow::nan, RoundingMode::toward_zero), -65504);
    EXPECT_EQ(rounded("fp16", x, Overflow::native, RoundingMode::down), 65504);
    EXPECT_EQ(rounded("fp16", x, Overflow::native, RoundingMode::up), kInfinity);
    EXPECT_EQ(rounded("fp16", -x, Overflow::native, RoundingMode::up), -65504);
    EXPECT_EQ(rounded("fp16", -x, Overflow::native, RoundingMode::down), -kInfinity);
  }
}

TEST(FloatRounding, InfinityAndNanAreNoRoundings) {
  for (const RoundingMode mode : kExactModes) {
    EXPECT_EQ(rounded("bf16", kInfinity, Overflow::native, mode), kInfinity);
    EXPECT_EQ(rounded("bf16", -kInfinity, Overflow::saturate, mode), -0x1.fep127);
    EXPECT_TRUE(std::isnan(rounded("bf16", kInfinity, Overflow::nan, mode)));
    EXPECT_EQ(rounded("e5m2", -kInfinity, Overflow::native, mode), -57344);
    EXPECT_EQ(rounded("e4m3", kInfinity, Overflow::native, mode), 448);
    EXPECT_TRUE(std::isnan(rounded("e2m1", kAnyNaN, Overflow::saturate, mode)));
  }
}

TEST(FloatRounding, TheSignOfZeroStaysWhereTheElementHasIt) {
  for (const double x : {-0.0, -1e-30, -0x1p-1074}) {
    EXPECT_TRUE(is_same(rounded("e4m3", x, Overflow::native), -0.0));
    EXPECT_TRUE(is_same(rounded("e2m1", x, Overflow::native), -0.0));
    EXPECT_TRUE(is_same(rounded("e4m3fnuz", x, Overflow::native), 0.0));
    EXPECT_TRUE(is_same(rounded("p3109(8,4)", x, Overflow::native), 0.0));
  }
  EXPECT_TRUE(is_same(rounded("fp16", -1e-30, Overflow::native, RoundingMode::up), -0.0));
}

TEST(FloatRounding, AnUnsignedFloatTakesNegativesToZeroOrNan) {
  for (const double x : {-1e-30, -3.0, -kInfinity}) {
    EXPECT_TRUE(is_same(rounded("p3109(8,4,unsigned)", x, Overflow::native), 0.0));
    EXPECT_TRUE(is_same(rounded("p3109(8,4,unsigned)", x, Overflow::infinity), 0.0));
    EXPECT_TRUE(std::isnan(rounded("p3109(8,4,unsigned)", x, Overflow::nan)));
  }
  EXPECT_TRUE(is_same(rounded("p3109(8,4,unsigned)", -0.0, Overflow::nan), 0.0));
}

TEST(FloatRounding, E8m0HoldsPowersOfTwoOnly) {
  const auto nearest = [](double x) { return rounded("e8m0", x, Overflow::native); };
  EXPECT_EQ(nearest(1.49), 1);
  EXPECT_EQ(nearest(1.5), 2);  // code 127 is odd, 128 even
  EXPECT_EQ(nearest(3), 2);
  EXPECT_EQ(nearest(3.01), 4);
  EXPECT_EQ(nearest(0), 0x1p-127);
  EXPECT_EQ(nearest(-5), 0x1p-127);
  EXPECT_EQ(nearest(1e300), 0x1p127);
  EXPECT_EQ(rounded("e8m0", 1e-300, Overflow::native, RoundingMode::down), 0x1p-127);
  EXPECT_TRUE(std::isnan(rounded("e8m0", 0x1.81p127, Overflow::nan)));
}

TEST(FloatRounding, WithoutSubnormalsTheGapAtZeroIsOneCell) {
  const auto f = named("e4m3(subnormals=off)");
  EXPECT_EQ(round_to(f, 0x1p-7, {}), 0);  // the middle: zero is even
  EXPECT_EQ(round_to(f, std::nextafter(0x1p-7, 1), {}), 0x1p-6);
  EXPECT_EQ(round_to(f, 0x1p-7, {RoundingMode::nearest_away}), 0x1p-6);
  EXPECT_EQ(round_to(f, 0x1p-30, {RoundingMode::to_odd}), 0x1p-6);  // neither code is odd: away
}

TEST(FloatRounding, StochasticMovesByExactlyTheDiscardedFraction) {
  const auto f = named("e4m3");
  for (const int r : {1, 4, 10}) {
    for (int i = 0; i <= 32; ++i) {
      const double fraction = i / 32.0;
      const auto expected = static_cast<std::uint32_t>(std::floor(std::ldexp(fraction, r)));
      const std::uint32_t moved = i == 32 ? 1U << r : expected;
      EXPECT_EQ(draws_that_move(f, 16 + 2 * fraction, 16, r), moved) << i;
      EXPECT_EQ(draws_that_move(f, -16 - 2 * fraction, -16, r), moved) << i;
      EXPECT_EQ(draws_that_move(f, 0x1p-9 * fraction, 0, r), moved) << i;
    }
  }
}

TEST(FloatRounding, ExtremeDrawsTakeTheExtremeDecisions) {
  const auto f = named("fp16");
  const Rounding wide{RoundingMode::stochastic, 32};
  const double above = 1 + 0x1p-10 * 0x1p-32;  // the least fraction that 32 bits see
  EXPECT_EQ(round_to(f, above, wide, Overflow::native, 0), 1 + 0x1p-10);
  EXPECT_EQ(round_to(f, above, wide, Overflow::native, 1), 1);
  EXPECT_EQ(round_to(f, std::nextafter(above, 1), wide, Overflow::native, 0), 1);
  const double below = 1 + 0x1p-10 * (1 - 0x1p-32);
  EXPECT_EQ(round_to(f, below, wide, Overflow::native, 0xFFFFFFFF), 1);
  EXPECT_EQ(round_to(f, below, wide, Overflow::native, 0xFFFFFFFE), 1 + 0x1p-10);
  EXPECT_EQ(round_to(f, 65535, wide, Overflow::native, 0), kInfinity);
  EXPECT_EQ(round_to(f, 65535, wide, Overflow::native, 0xFFFFFFFF), 65504);
  EXPECT_EQ(round_to(f, 1.7e308, wide, Overflow::native, 0xFFFFFFFF), kInfinity);
}

}  // namespace
}  // namespace nibble::inline numerics
