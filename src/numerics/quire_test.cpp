// SPDX-License-Identifier: Apache-2.0
// Tests of the quire: sums are exact, and the one rounding at the end is to odd.
#include "numerics/quire.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "nibble/core/error.h"

namespace nibble::inline numerics {
namespace {

__extension__ using i128 = __int128;

constexpr double kMax = std::numeric_limits<float>::max();

TEST(Quire, IsZeroAtFirstAndAfterExactCancellation) {
  Quire quire;
  EXPECT_EQ(quire.sign(), 0);
  EXPECT_EQ(quire.to_double_odd(), 0.0);
  quire.add_product(kMax, kMax);
  quire.add_product(0x1p-149, 0x1p-149);
  quire.add_product(-kMax, kMax);
  EXPECT_EQ(quire.sign(), 1);
  EXPECT_EQ(quire.to_double_odd(), 0x1p-298);
  quire.add_product(0x1p-149, -0x1p-149);
  EXPECT_EQ(quire.sign(), 0);
}

TEST(Quire, KeepsTheWholeRangeItPromises) {
  for (const double sign : {1.0, -1.0}) {
    for (const auto& [a, b] : {std::pair{0x1.fffffffffffffp255, 0x1.fffffffffffffp255},
                               {0x1p255, 0x1p255},
                               {0x1p-256, 0x1p-256},
                               {0x1p240, 0x1p240},
                               {0x1p-256, 0x1p255}}) {
      Quire quire;
      quire.add_product(sign * a, b);
      EXPECT_EQ(quire.sign(), sign > 0 ? 1 : -1);
      const double product = a * b;  // where it is not exact, to odd differs by an ulp at most
      EXPECT_NEAR(quire.to_double_odd() / product, sign, 0x1p-52);
      quire.add_product(-sign * a, b);
      EXPECT_EQ(quire.sign(), 0);
    }
  }
}

TEST(Quire, RefusesWhatItCannotHold) {
  Quire quire;
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THROW(quire.add_product(infinity, 1), Error);
  EXPECT_THROW(quire.add_product(0, infinity), Error);
  EXPECT_THROW(quire.add_product(std::nan(""), 1), Error);
  EXPECT_THROW(quire.add_product(0x1p256, 0x1p256), Error);
  EXPECT_THROW(quire.add_product(0x1p-257, 0x1p-256), Error);
  EXPECT_EQ(quire.sign(), 0);
}

TEST(Quire, RoundsToOddOnce) {
  Quire quire;
  quire.add(1);
  quire.add_product(0x1p-200, 0x1p-200);
  EXPECT_EQ(quire.to_double_odd(), 1 + 0x1p-52);
  quire.add_product(-0x1p-200, 0x1p-199);
  EXPECT_EQ(quire.to_double_odd(), 1 - 0x1p-53);  // just below one: all ones is odd
  Quire negative;
  negative.add(-1);
  negative.add_product(-0x1p-200, 0x1p-200);
  EXPECT_EQ(negative.to_double_odd(), -1 - 0x1p-52);
}

TEST(Quire, HoldsManyOfTheLargestProducts) {
  Quire quire;
  for (int i = 0; i < 1000; ++i) quire.add_product(0x1p255, -0x1p255);
  EXPECT_EQ(quire.to_double_odd(), -1000 * 0x1p510);
}

// Sums of products of small integers at one scale, against 128-bit integers.
RC_GTEST_PROP(Quire, EqualsIntegerArithmetic, ()) {
  const auto numbers = *rc::gen::container<std::vector<std::pair<std::int64_t, std::int64_t>>>(
      rc::gen::pair(rc::gen::inRange<std::int64_t>(-(1LL << 50), 1LL << 50),
                    rc::gen::inRange<std::int64_t>(-(1LL << 50), 1LL << 50)));
  const int exponent = *rc::gen::inRange(-250, 200);
  Quire quire;
  i128 sum = 0;
  for (const auto& [a, b] : numbers) {
    quire.add_product(std::ldexp(static_cast<double>(a), exponent), static_cast<double>(b));
    sum += static_cast<i128>(a) * b;
  }
  RC_ASSERT(quire.sign() == (sum > 0) - (sum < 0));
  // To odd by hand: cut to 53 bits, and set the last where anything was cut.
  const bool negative = sum < 0;
  if (negative) sum = -sum;
  int cut = 0;
  bool sticky = false;
  while (sum >> 53 != 0) {
    sticky = sticky || (sum & 1) != 0;
    sum >>= 1;
    ++cut;
  }
  if (sticky) sum |= 1;
  const double magnitude =
      std::ldexp(static_cast<double>(static_cast<std::int64_t>(sum)), cut + exponent);
  RC_ASSERT(quire.to_double_odd() == (negative ? -magnitude : magnitude));
}

// Any later rounding to fp32 is then as if from the exact sum.
RC_GTEST_PROP(Quire, RoundingTheOddSumToFp32IsRoundingTheExactSum, ()) {
  const auto high =
      *rc::gen::inRange<std::int64_t>(1LL << 24, 1LL << 25);  // one bit more than fp32
  const int tail = *rc::gen::inRange(30, 200);
  const auto direction = *rc::gen::element(-1, 0, 1);
  Quire quire;
  quire.add(static_cast<double>(high));
  quire.add(std::ldexp(static_cast<double>(direction), -tail));
  const auto odd_half = high % 2 != 0;
  std::int64_t expected = high;
  if (odd_half) {
    const bool up = direction > 0 || (direction == 0 && (high + 1) / 2 % 2 == 0);
    expected += up ? 1 : -1;
  }
  RC_ASSERT(static_cast<float>(quire.to_double_odd()) == static_cast<float>(expected));
}

RC_GTEST_PROP(Quire, DoesNotDependOnTheOrder, (std::vector<std::pair<float, float>> products)) {
  Quire forward;
  Quire backward;
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
