// SPDX-License-Identifier: Apache-2.0
// Tests of exact sums: nothing is lost, and the one rounding at the end is to odd.
#include "numerics/exact_sum.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace nibble::inline numerics {
namespace {

__extension__ using i128 = __int128;

constexpr double kMax = std::numeric_limits<float>::max();

TEST(ExactSum, IsZeroAtFirstAndAfterExactCancellation) {
  ExactSum sum;
  EXPECT_EQ(sum.sign(), 0);
  EXPECT_EQ(sum.to_double_odd(), 0.0);
  sum.add_product(kMax, kMax);
  sum.add_product(0x1p-149, 0x1p-149);
  sum.add_product(-kMax, kMax);
  EXPECT_EQ(sum.sign(), 1);
  EXPECT_EQ(sum.to_double_odd(), 0x1p-298);
  sum.add_product(0x1p-149, -0x1p-149);
  EXPECT_EQ(sum.sign(), 0);
}

TEST(ExactSum, KeepsTheWholeRangeItPromises) {
  for (const double sign : {1.0, -1.0}) {
    for (const auto& [a, b] : {std::pair{0x1.fffffffffffffp255, 0x1.fffffffffffffp255},
                               {0x1p255, 0x1p255},
                               {0x1p-256, 0x1p-256},
                               {0x1p240, 0x1p240},
                               {0x1p-256, 0x1p255}}) {
      ExactSum sum;
      sum.add_product(sign * a, b);
      EXPECT_EQ(sum.sign(), sign > 0 ? 1 : -1);
      const double product = a * b;  // where it is not exact, to odd differs by an ulp at most
      EXPECT_NEAR(sum.to_double_odd() / product, sign, 0x1p-52);
      sum.add_product(-sign * a, b);
      EXPECT_EQ(sum.sign(), 0);
    }
  }
}

TEST(ExactSum, RoundsToOddOnce) {
  ExactSum sum;
  sum.add(1);
  sum.add_product(0x1p-200, 0x1p-200);
  EXPECT_EQ(sum.to_double_odd(), 1 + 0x1p-52);
  sum.add_product(-0x1p-200, 0x1p-199);
  EXPECT_EQ(sum.to_double_odd(), 1 - 0x1p-53);  // just below one: all ones is odd
  ExactSum negative;
  negative.add(-1);
  negative.add_product(-0x1p-200, 0x1p-200);
  EXPECT_EQ(negative.to_double_odd(), -1 - 0x1p-52);
}

TEST(ExactSum, HoldsManyOfTheLargestProducts) {
  ExactSum sum;
  for (int i = 0; i < 1000; ++i) sum.add_product(0x1p255, -0x1p255);
  EXPECT_EQ(sum.to_double_odd(), -1000 * 0x1p510);
}

// Sums of products of small integers at one scale, against 128-bit integers.
RC_GTEST_PROP(ExactSum, EqualsIntegerArithmetic, ()) {
  const auto numbers = *rc::gen::container<std::vector<std::pair<std::int64_t, std::int64_t>>>(
      rc::gen::pair(rc::gen::inRange<std::int64_t>(-(1LL << 50), 1LL << 50),
                    rc::gen::inRange<std::int64_t>(-(1LL << 50), 1LL << 50)));
  const int exponent = *rc::gen::inRange(-250, 200);
  ExactSum sum;
  i128 integers = 0;
  for (const auto& [a, b] : numbers) {
    sum.add_product(std::ldexp(static_cast<double>(a), exponent), static_cast<double>(b));
    integers += static_cast<i128>(a) * b;
  }
  RC_ASSERT(sum.sign() == (integers > 0) - (integers < 0));
  // To odd by hand: cut to 53 bits, and set the last where anything was cut.
  const bool negative = integers < 0;
  if (negative) integers = -integers;
  int cut = 0;
  bool sticky = false;
  while (integers >> 53 != 0) {
    sticky = sticky || (integers & 1) != 0;
    integers >>= 1;
    ++cut;
  }
  if (sticky) integers |= 1;
  const double magnitude =
      std::ldexp(static_cast<double>(static_cast<std::int64_t>(integers)), cut + exponent);
  RC_ASSERT(sum.to_double_odd() == (negative ? -magnitude : magnitude));
}

// Any later rounding to fp32 is then as if from the exact sum.
RC_GTEST_PROP(ExactSum, RoundingTheOddSumToFp32IsRoundingTheExactSum, ()) {
  const auto high =
      *rc::gen::inRange<std::int64_t>(1LL << 24, 1LL << 25);  // one bit more than fp32
  const int tail = *rc::gen::inRange(30, 200);
  const auto direction = *rc::gen::element(-1, 0, 1);
  ExactSum sum;
  sum.add(static_cast<double>(high));
  sum.add(std::ldexp(static_cast<double>(direction), -tail));
  const auto odd_half = high % 2 != 0;
  std::int64_t expected = high;
  if (odd_half) {
    const bool up = direction > 0 || (direction == 0 && (high + 1) / 2 % 2 == 0);
    expected += up ? 1 : -1;
  }
  RC_ASSERT(static_cast<float>(sum.to_double_odd()) == static_cast<float>(expected));
}

RC_GTEST_PROP(ExactSum, DoesNotDependOnTheOrder, (std::vector<std::pair<float, float>> products)) {
  ExactSum forward;
  ExactSum backward;
  for (const auto& [a, b] : products)
    forward.add_product(static_cast<double>(a), static_cast<double>(b));
  for (auto i = products.rbegin(); i != products.rend(); ++i) {
    backward.add_product(static_cast<double>(i->first), static_cast<double>(i->second));
  }
  RC_ASSERT(std::bit_cast<std::uint64_t>(forward.to_double_odd()) ==
            std::bit_cast<std::uint64_t>(backward.to_double_odd()));
}

}  // namespace
}  // namespace nibble::inline numerics
