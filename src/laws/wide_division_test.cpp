// SPDX-License-Identifier: Apache-2.0
// Wide quotients and whole roots.
#include "laws/wide_division.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace nibble::inline laws {
namespace {

RC_GTEST_PROP(WideDivision, QuotientsAreTheOnlyOnes,
              (std::int64_t high, std::uint64_t low, std::uint32_t d)) {
  RC_PRE(d > 0);
  // Small enough for the quotient to fit.
  const Int128 n = (Int128{high} << 20) + static_cast<Int128>(low >> 44);
  const Int128 divisor = std::uint64_t{d} << 21;
  const Int128 nearest = quotient_to_nearest(n, std::uint64_t{d} << 21);
  const Int128 off = n - nearest * divisor;
  RC_ASSERT(2 * magnitude_of_wide(off) <= static_cast<UInt128>(divisor));
  if (2 * magnitude_of_wide(off) == static_cast<UInt128>(divisor))  // a tie goes away from zero
    RC_ASSERT(magnitude_of_wide(nearest) > magnitude_of_wide(n / divisor));
}

// What a GPU does, numbers and divisors of every length.
RC_GTEST_PROP(WideDivision, DigitByDigitIsDivision, (std::uint64_t high, std::uint64_t low)) {
  const UInt128 n = static_cast<UInt128>(high) << 64 | low;
  for (int i = 0; i < 128; i += 7) {
    for (int k = 1; k < 64; ++k) {
      const std::uint64_t d = (low * 0x9E3779B97F4A7C15u + high) >> k | 1;
      RC_ASSERT(quotient_by_digits(n >> i, d) == (n >> i) / d);
    }
  }
}

TEST(WideDivision, DigitByDigitIsDivisionAtTheEnds) {
  const UInt128 most = ~UInt128{0};
  for (const UInt128 n :
       {UInt128{0}, UInt128{1}, UInt128{1} << 63, UInt128{1} << 64, most >> 1, most}) {
    for (const std::uint64_t d : {1ull, 2ull, 3ull, (1ull << 62) - 1, 1ull << 62, 1ull << 63}) {
      EXPECT_TRUE(quotient_by_digits(n, d) == n / d);
      const UInt128 below = n == 0 ? 0 : n - 1;
      EXPECT_TRUE(quotient_by_digits(below, d) == below / d);
    }
  }
}

// A digit then lacks at most a few, and never has too much.
TEST(WideDivision, ReciprocalsAreALittleTooSmall) {
  constexpr std::uint64_t kFirst = std::uint64_t{1} << 31;
  constexpr std::uint64_t kOne = std::uint64_t{1} << 63;
  for (std::uint64_t d = kFirst; d <= 2 * kFirst; d += d < kFirst + 1000 ? 1 : 65521) {
    const std::uint64_t product = reciprocal_of(d) * d;
    EXPECT_LE(product, kOne);
    EXPECT_LT(kOne - product, kOne >> 30);
  }
}

RC_GTEST_PROP(WholeRoot, IsTheLargestWhoseSquareFits, (std::uint64_t x)) {
  const UInt128 root = whole_root(x);
  RC_ASSERT(root * root <= x && (root + 1) * (root + 1) > x);
}

TEST(WholeRoot, OfSquaresAndTheirNeighbours) {
  for (const std::uint64_t root : {0ull, 1ull, 2ull, 3ull, 65535ull, 1ull << 31, 0xFFFFFFFFull}) {
    EXPECT_EQ(whole_root(root * root), root);
    EXPECT_EQ(whole_root(root * root + 2 * root), root);
    if (root == 0) continue;
    EXPECT_EQ(whole_root(root * root - 1), root - 1);
  }
}

}  // namespace
}  // namespace nibble::inline laws
