// SPDX-License-Identifier: Apache-2.0
// Numbers as an integer and a power of two, by hand.
#include "nibble/laws/scaled_integer.h"

#include <gtest/gtest.h>

namespace nibble::inline laws {
namespace {

using S = ScaledInteger;

TEST(ScaledInteger, IsRoundedToItsBitsHalvesAwayFromZero) {
  EXPECT_EQ(rounded_to({5, 0}, 3), (S{5, 0}));
  EXPECT_EQ(rounded_to({5, 0}, 5), (S{20, -2}));
  EXPECT_EQ(rounded_to({11, 0}, 3), (S{6, 1}));  // 5.5
  EXPECT_EQ(rounded_to({-11, 0}, 3), (S{-6, 1}));
  EXPECT_EQ(rounded_to({9, -4}, 3), (S{5, -3}));  // 4.5
  EXPECT_EQ(rounded_to({15, 0}, 3), (S{4, 2}));   // 7.5 is 8: a bit more
  EXPECT_EQ(rounded_to({-31, 7}, 4), (S{-8, 9}));
  EXPECT_EQ(rounded_to({0, 12}, 15), (S{0, 0}));
  EXPECT_EQ(rounded_to({INT64_MAX, 0}, 15), (S{1 << 14, 49}));
}

TEST(ScaledInteger, ProductsAndQuotientsHaveThirtyBits) {
  EXPECT_EQ(product_of({3, -1}, {5, -2}), (S{15 << 26, -29}));
  const S third = divided({1, 0}, 3);  // ⌊2^60 / 3⌋ has 59 bits: 29 go
  EXPECT_EQ(third, (S{715'827'883, -31}));
  EXPECT_EQ(rounded_to(third, 15), (S{21'845, -16}));
  EXPECT_EQ(divided({1, 5}, 1), (S{1 << 29, -24}));
  EXPECT_EQ(divided({0, 0}, 7), (S{0, 0}));
}

}  // namespace
}  // namespace nibble::inline laws
