// SPDX-License-Identifier: Apache-2.0
// Tests of the text of errors.
#include "nibble/core/error.h"

#include <gtest/gtest.h>

namespace nibble {
namespace {

TEST(Error, SaysWhereWhatGotAndExpected) {
  EXPECT_STREQ(Error("pack", "rank", "3", "2").what(), "[pack] rank: got 3, expected 2");
}

TEST(Error, SaysWhereAndWhatWhenNothingIsCompared) {
  EXPECT_STREQ(Error("pack", "out of memory").what(), "[pack] out of memory");
}

}  // namespace
}  // namespace nibble
