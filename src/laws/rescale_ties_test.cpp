// SPDX-License-Identifier: Apache-2.0
// Tests of where the rescale law can meet a tie.
#include "laws/rescale_ties.h"

#include <gtest/gtest.h>

namespace nibble::inline laws {
namespace {

TEST(RescaleTies, AreFoundWhereTheyAreAndNowhereElse) {
  for (int s = 0; s <= 9; ++s) {
    for (std::uint64_t m = 0; m <= 40; ++m) {
      bool ties = false;  // of any x so far
      for (std::uint64_t x = 0; x <= 40; ++x) {
        const std::uint64_t step = std::uint64_t{1} << s;
        ties |= s > 0 && x * m % step == step / 2;
        EXPECT_EQ(has_ties(x, m, s), ties) << x << " times " << m << " by 2^" << s;
      }
    }
  }
}

}  // namespace
}  // namespace nibble::inline laws
