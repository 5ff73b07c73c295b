// SPDX-License-Identifier: Apache-2.0
// Tests of axes.
#include "report/axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <cmath>

namespace nibble::inline report {
namespace {

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> list;
  for (const Tick& tick : axis.ticks()) list.push_back(tick.label);
  return list;
}

using testing::ElementsAre;

TEST(Axis, TicksAreRound) {
  EXPECT_THAT(labels(Axis(0, 1)), ElementsAre("0", "0.2", "0.4", "0.6", "0.8", "1"));
  EXPECT_THAT(labels(Axis(-0.3, 0.31)), ElementsAre("-0.2", "0", "0.2"));
  EXPECT_THAT(labels(Axis(91.7, 98.2)), ElementsAre("92", "94", "96", "98"));
  EXPECT_THAT(labels(Axis(0, 3e-7)),
              ElementsAre("0", "5e-8", "1e-7", "1.5e-7", "2e-7", "2.5e-7", "3e-7"));
}

TEST(Axis, WholeTicksSkipNoNumberBetween) {
  EXPECT_THAT(labels(Axis(1, 3, {.is_whole = true})), ElementsAre("1", "2", "3"));
  EXPECT_THAT(labels(Axis(1, 1, {.is_whole = true})), ElementsAre("0", "1", "2"));
}

TEST(Axis, ALogarithmicAxisHasDecades) {
  EXPECT_THAT(labels(Axis(0.001, 10, {.is_log = true})),
              ElementsAre("0.001", "0.01", "0.1", "1", "10"));
  EXPECT_THAT(labels(Axis(0.15, 6, {.is_log = true})), ElementsAre("0.2", "0.5", "1", "2", "5"));
  EXPECT_NEAR(Axis(0.01, 100, {.is_log = true}).share(1), 0.5, 1e-12);
}

TEST(Axis, ASingleValueStandsInTheMiddle) {
  EXPECT_NEAR(Axis(7, 7).share(7), 0.5, 1e-12);
  EXPECT_NEAR(Axis(0, 0).share(0), 0.5, 1e-12);
  EXPECT_NEAR(Axis(3, 3, {.is_log = true}).share(3), 0.5, 1e-12);
}

RC_GTEST_PROP(Axis, TicksLieOnItAndAreFew, (int a, int b, int exponent)) {
  const double scale = std::pow(10.0, exponent % 30);
  const Axis axis(std::min(a, b) * scale, std::max(a, b) * scale);
  RC_ASSERT(axis.ticks().size() <= 8u);
  RC_ASSERT(!axis.ticks().empty());
  for (const Tick& tick : axis.ticks()) {
    RC_ASSERT(axis.share(tick.value) > -1e-6);
    RC_ASSERT(axis.share(tick.value) < 1 + 1e-6);
  }
}

}  // namespace
}  // namespace nibble::inline report
