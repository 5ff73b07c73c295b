// SPDX-License-Identifier: Apache-2.0
// Tests of warnings: each once, in their order, and not without end.
#include "core/warning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nibble::inline core {
namespace {

TEST(Warnings, AreKeptOnceUntilTheyAreAskedFor) {
  (void)take_warnings();
  warn("first");
  warn("second");
  warn("first");
  EXPECT_THAT(take_warnings(), testing::ElementsAre("first", "second"));
  EXPECT_TRUE(take_warnings().empty());
}

TEST(Warnings, DoNotGrowWithoutEnd) {
  for (int i = 0; i < 1000; ++i) warn(std::to_string(i));
  EXPECT_LE(take_warnings().size(), 16U);
}

}  // namespace
}  // namespace nibble::inline core
