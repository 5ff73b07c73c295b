// SPDX-License-Identifier: Apache-2.0
// Division without the processor's own.
#include "laws/integer_division.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

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

RC_GTEST_PROP(ShiftTowardZero, IsTheQuotient, (std::int64_t x)) {
  for (const int s : {0, 1, 15, 40})
    RC_ASSERT(shift_toward_zero(x, s) == x / (std::int64_t{1} << s));
}

}  // namespace
}  // namespace nibble::inline laws
