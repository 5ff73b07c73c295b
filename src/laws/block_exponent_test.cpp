// SPDX-License-Identifier: Apache-2.0
// Tests of the common exponent.
#include "laws/block_exponent.h"

#include <gtest/gtest.h>

#include <vector>

#include "nibble/core/error.h"

namespace nibble::inline laws {
namespace {

using Factors = std::vector<std::int64_t>;

Alignment align_of(std::vector<int> exponents) {
  return align(exponents);
}

TEST(BlockExponent, OperandsMeetAtTheSmallestExponent) {
  const Alignment two = align_of({-3, 2});
  EXPECT_EQ(two.exponent, -3);
  EXPECT_EQ(two.factor, (Factors{1, 32}));
  // 5·2^-3 + (-7)·2^2 = -219·2^-3
  EXPECT_EQ(5 * two.factor[0] - 7 * two.factor[1], -219);
  const Alignment three = align_of({4, 1, 2});
  EXPECT_EQ(three.exponent, 1);
  EXPECT_EQ(three.factor, (Factors{8, 1, 2}));
}

TEST(BlockExponent, OneOperandKeepsItsExponent) {
  EXPECT_EQ(align_of({-17}).exponent, -17);
  EXPECT_EQ(align_of({-17}).factor, Factors{1});
  EXPECT_EQ(align_of({6, 6}).factor, (Factors{1, 1}));
}

TEST(BlockExponent, AtTheReachAnOperandCountsAndBeyondItIsZero) {
  const Alignment at = align_of({40, 0});
  EXPECT_EQ(at.exponent, 0);
  EXPECT_EQ(at.factor, (Factors{std::int64_t{1} << 40, 1}));
  const Alignment beyond = align_of({41, 0});
  EXPECT_EQ(beyond.exponent, 41);
  EXPECT_EQ(beyond.factor, (Factors{1, 0}));
  const Alignment middle = align_of({0, 50, 30});
  EXPECT_EQ(middle.exponent, 30);
  EXPECT_EQ(middle.factor, (Factors{0, std::int64_t{1} << 20, 1}));
}

TEST(BlockExponent, NoOperandIsAnError) {
  EXPECT_THROW(align_of({}), Error);
}

}  // namespace
}  // namespace nibble::inline laws
