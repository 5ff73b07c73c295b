// SPDX-License-Identifier: Apache-2.0
// Tests of the bits that a magnitude needs.
#include "fixed/bit_width.h"

#include <gtest/gtest.h>

namespace nibble {
namespace {

TEST(BitWidth, PowersOfTwoStayBelowTheNextBit) {
  static_assert(bits_of(0) == 0 && bits_of(1) == 0 && bits_of(2) == 1 && bits_of(3) == 2);
  EXPECT_EQ(bits_of(4), 2);
  EXPECT_EQ(bits_of(5), 3);
  EXPECT_EQ(bits_of(64), 6);
  EXPECT_EQ(bits_of(65), 7);
  EXPECT_EQ(bits_of(128), 7);
  EXPECT_EQ(bits_of(129), 8);
  EXPECT_EQ(bits_of(std::uint64_t{1} << 31), 31);
  EXPECT_EQ(bits_of(std::uint64_t{1} << 63), 63);
  EXPECT_EQ(bits_of(~std::uint64_t{0}), 64);
}

TEST(BitWidth, ItIsTheSmallestPowerOfTwoThatHoldsTheMagnitude) {
  for (std::uint64_t m = 1; m < 5000; ++m) {
    const int b = bits_of(m);
    EXPECT_GE(std::uint64_t{1} << b, m);
    if (b > 0) {
      EXPECT_LT(std::uint64_t{1} << (b - 1), m);
    }
  }
}

}  // namespace
}  // namespace nibble
