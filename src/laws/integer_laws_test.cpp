// SPDX-License-Identifier: Apache-2.0
// The laws against their formulas, computed another way.
#include "laws/integer_laws.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace nibble::inline laws {
namespace {

TEST(IntegerLaws, SafeTermsAreTheMostThat32BitsHold) {
  constexpr std::int64_t kLargest = 127 * 127;
  EXPECT_LE(kSafeTerms * kLargest, INT32_MAX);
  EXPECT_GT((kSafeTerms + 1) * kLargest, INT32_MAX);
}

// Products and bias keep their values in the common unit, as far as the reach goes.
TEST(IntegerLaws, SumsAndBiasesMeetExactlyWithinTheReach) {
  for (int product = -60; product <= 20; ++product) {
    for (int bias = -60; bias <= 20; ++bias) {
      const SumScale scale = product_scale(product, bias);
      EXPECT_EQ(scale.exponent + scale.product_lift, product);
      EXPECT_GE(scale.product_lift, 0);
      EXPECT_LE(scale.product_lift, 28);
      EXPECT_GE(scale.bias_lift, 0);
      EXPECT_LE(scale.bias_lift, 28);
      if (std::abs(product - bias) <= kBiasReach) {
        EXPECT_EQ(scale.exponent + scale.bias_lift, bias) << product << " " << bias;
        EXPECT_TRUE(scale.product_lift == 0 || scale.bias_lift == 0);
      }
    }
  }
  EXPECT_EQ(product_scale(-14, -10), (SumScale{-14, 0, 4}));
  EXPECT_EQ(product_scale(-5, -10), (SumScale{-10, 5, 0}));
  EXPECT_EQ(product_scale(0, -40), (SumScale{-28, 28, 0}));    // the bias is held above its unit
  EXPECT_EQ(product_scale(-50, -10), (SumScale{-50, 0, 28}));  // and here below
}

TEST(IntegerLaws, FactorsOfMeansAreTheNearest) {
  EXPECT_EQ(mean_factor(1), 32768);
  EXPECT_EQ(mean_factor(3), 10923);
  EXPECT_EQ(mean_factor(49), 669);
  for (std::int64_t count = 1; count < 5000; ++count)
    EXPECT_EQ(mean_factor(count), std::llround(32768.0 / static_cast<double>(count))) << count;
  EXPECT_EQ(mean_factor(6, 24), 2796203);
}

TEST(IntegerLaws, TheCutIsSixInUnitsOfTheValue) {
  for (int exponent = -4; exponent <= 40; ++exponent)
    EXPECT_EQ(relu6_cut(exponent), static_cast<int>(std::ldexp(6.0, -exponent))) << exponent;
  for (const int exponent : {-5, -6, -40}) {
    EXPECT_GT(std::ldexp(6.0, -exponent), 127);
    EXPECT_EQ(relu6_cut(exponent), 127);
  }
}

TEST(IntegerLaws, HalvingsAreThoseOfOneLessAPowerOfTwo) {
  for (int k = 0; k <= 4; ++k)
    EXPECT_EQ(halvings_of(static_cast<float>(1 - std::ldexp(1.0, -k))), k);
  for (const float share : {-0.0F, 0.1F, 0.4999999F, 0.5000001F, 0.96875F, 1.0F, -0.5F})
    EXPECT_EQ(halvings_of(share), -1) << share;
}

static_assert(product_scale(-14, -10).bias_lift == 4);
static_assert(relu6_cut(-3) == 48);
static_assert(mean_factor(4) == 8192);
static_assert(halvings_of(0.75F) == 2);

TEST(IntegerLaws, PowersOfTwoStayBelowTheNextBit) {
  static_assert(bits_of(0) == 0 && bits_of(1) == 0 && bits_of(2) == 1 && bits_of(3) == 2);
  EXPECT_EQ(bits_of(4), 2);
  EXPECT_EQ(bits_of(5), 3);
  EXPECT_EQ(bits_of(64), 6);
  EXPECT_EQ(bits_of(65), 7);
  EXPECT_EQ(bits_of(128), 7);
  EXPECT_EQ(bits_of(129), 8);
  EXPECT_EQ(bits_of(std::uint64_t{1} << 31), 31);
  EXPECT_EQ(bits_of(std::uint64_t{1} << 63), 63);
  EXPECT_EQ(bits_of(~std::uint64_t{0}), 64);
}

TEST(IntegerLaws, ItIsTheSmallestPowerOfTwoThatHoldsTheMagnitude) {
  for (std::uint64_t m = 1; m < 5000; ++m) {
    const int b = bits_of(m);
    EXPECT_GE(std::uint64_t{1} << b, m);
    if (b > 0) {
      EXPECT_LT(std::uint64_t{1} << (b - 1), m);
    }
  }
}

}  // namespace
}  // namespace nibble::inline laws
