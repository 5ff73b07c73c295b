// SPDX-License-Identifier: Apache-2.0
// The cosine of schedules beside the true one.
#include "laws/half_cosine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace nibble::inline laws {
namespace {

TEST(HalfCosine, IsWithinFourUnitsOfTheTrueValue) {
  long double worst = 0;
  constexpr std::int64_t kStep = 10'007;
  for (std::int64_t t = 0; t <= kWholeShare; t += kStep) {
    const long double angle =
        std::numbers::pi_v<long double> * static_cast<long double>(t) / kWholeShare;
    const long double wanted = (1 + std::cos(angle)) / 2 * kWholeShare;
    worst = std::max(worst, std::abs(static_cast<long double>(half_cosine(t)) - wanted));
  }
  EXPECT_LT(worst, 4.0L);
}

TEST(HalfCosine, IsExactWhereItMustBe) {
  EXPECT_EQ(half_cosine(0), kWholeShare);
  EXPECT_EQ(half_cosine(kWholeShare / 2), kWholeShare / 2);
  EXPECT_EQ(half_cosine(kWholeShare), 0);
}

TEST(HalfCosine, FallsAndIsItsOwnMirror) {
  std::int64_t before = kWholeShare;
  for (std::int64_t t = 0; t <= kWholeShare; t += 99'991) {
    const std::int64_t now = half_cosine(t);
    EXPECT_LE(now, before);
    EXPECT_EQ(now + half_cosine(kWholeShare - t), kWholeShare);
    before = now;
  }
}

// A second implementation must give these.
TEST(HalfCosine, HasGoldens) {
  EXPECT_EQ(half_cosine(kWholeShare / 4), 916'495'975);
  EXPECT_EQ(half_cosine(kWholeShare / 3), 805'306'370);
  EXPECT_EQ(half_cosine(1'000'000'000), 12'447'503);
}

}  // namespace
}  // namespace nibble::inline laws
