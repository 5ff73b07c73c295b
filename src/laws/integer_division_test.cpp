// SPDX-License-Identifier: Apache-2.0
// Division without the processor's own.
#include "laws/integer_division.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace nibble::inline laws {
namespace {

constexpr std::uint32_t kMost = 0x7FFFFFFFu;

TEST(Divisor, GivesQuotientsAtTheEdges) {
  for (const std::uint32_t d : {1u, 2u, 3u, 5u, 7u, 9u, 16u, 641u, 65535u, 65536u, kMost}) {
    const Divisor divisor = Divisor::of(d);
    for (const std::uint32_t near : {0u, 1u, d, 2 * d, kMost / d * d, kMost}) {
      for (const std::uint32_t n : {near - 1, near, near + 1}) {
        if (n > kMost) continue;
        EXPECT_EQ(divisor.quotient(n), n / d) << n << " / " << d;
        EXPECT_EQ(divisor.remainder(n, divisor.quotient(n)), n % d) << n << " / " << d;
      }
    }
  }
}

RC_GTEST_PROP(Divisor, GivesEveryQuotient, (std::uint32_t n, std::uint32_t d)) {
  RC_PRE(d % kMost > 0);
  RC_ASSERT(Divisor::of(d % kMost).quotient(n % kMost) == n % kMost / (d % kMost));
}

RC_GTEST_PROP(ShareOf, IsTheQuotientOfTheScaled, (std::uint32_t a, std::uint32_t b)) {
  const std::int64_t n = std::min(a, b);
  const std::int64_t d = std::max({a, b, 1u});
  for (const int bits : {0, 1, 11, 30}) RC_ASSERT(share_of(n, d, bits) == (n << bits) / d);
}

// Powers of two and their neighbours, as far as they go.
std::vector<std::int64_t> numbers_near_powers() {
  std::vector<std::int64_t> numbers = {0, INT64_MAX - 1, INT64_MAX};
  for (int bit = 0; bit < 63; ++bit) {
    const std::int64_t power = std::int64_t{1} << bit;
    for (const std::int64_t near : {power - 1, power, power + 1, power / 3})
      numbers.push_back(near);
  }
  return numbers;
}

void expect_quotient(std::int64_t n, std::int64_t d) {
  const std::int64_t wanted = n / d;
  const auto least = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(wanted)));
  for (const int bits : {least, std::min(least + 1, 63), 63})
    EXPECT_EQ(quotient_of(n, d, bits), wanted) << n << " / " << d << ", " << bits << " bits";
}

TEST(QuotientOf, IsThatOfEverySmallPair) {
  for (std::int64_t n = 0; n < 600; ++n) {
    for (std::int64_t d = 1; d < 300; ++d) expect_quotient(n, d);
  }
}

TEST(QuotientOf, IsThatOfTheCorners) {
  for (const std::int64_t n : numbers_near_powers()) {
    for (const std::int64_t d : numbers_near_powers()) {
      if (d == 0) continue;
      expect_quotient(n, d);
      const std::int64_t multiple = n / d * d;  // just below it, it, just above it
      expect_quotient(multiple, d);
      if (multiple > 0) expect_quotient(multiple - 1, d);
      if (multiple < INT64_MAX) expect_quotient(multiple + 1, d);
    }
  }
}

RC_GTEST_PROP(QuotientOf, IsThatOfAnyPair, (std::uint64_t n, std::uint64_t d, std::uint8_t down)) {
  const auto smaller = static_cast<std::int64_t>((d & INT64_MAX) >> down % 63);
  expect_quotient(static_cast<std::int64_t>(n & INT64_MAX), std::max<std::int64_t>(smaller, 1));
}

// As a table's shares are rounded, whose quotient is at most `high`.
RC_GTEST_PROP(QuotientOf, RoundsShares, (std::uint32_t a, std::uint32_t b, std::uint16_t high)) {
  const auto t = std::int64_t{std::min(a, b)};
  const auto sum = std::max<std::int64_t>(std::max(a, b), 1);
  const std::int64_t n = 2 * std::int64_t{high} * t + sum;
  RC_ASSERT(quotient_of(n, 2 * sum, static_cast<int>(std::bit_width(high))) == n / (2 * sum));
}

RC_GTEST_PROP(ShiftTowardZero, IsTheQuotient, (std::int64_t x)) {
  for (const int s : {0, 1, 15, 40})
    RC_ASSERT(shift_toward_zero(x, s) == x / (std::int64_t{1} << s));
}

}  // namespace
}  // namespace nibble::inline laws
