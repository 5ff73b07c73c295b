// SPDX-License-Identifier: Apache-2.0
// Tests of shapes: counts, limits and text.
#include "nibble/core/shape.h"

#include <gtest/gtest.h>

#include <vector>

#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

constexpr std::int64_t kTwoTo60 = std::int64_t{1} << 60;

TEST(Shape, AScalarHasRankZeroAndOneElement) {
  const Shape shape;
  EXPECT_EQ(shape.rank(), 0u);
  EXPECT_EQ(shape.elements(), 1);
}

TEST(Shape, ElementsAreTheProductOfTheExtents) {
  EXPECT_EQ((Shape{2, 3, 4}).elements(), 24);
  EXPECT_EQ((Shape{2, 0, 4}).elements(), 0);
}

TEST(Shape, TextIsAPythonTuple) {
  EXPECT_EQ(Shape().to_string(), "()");
  EXPECT_EQ(Shape{7}.to_string(), "(7,)");
  EXPECT_EQ((Shape{2, 3}).to_string(), "(2, 3)");
}

TEST(Shape, EqualityComparesRankAndExtents) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2}), (Shape{2, 0}));
}

TEST(Shape, ANegativeAxisCountsFromTheEnd) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.normalized_axis(-1), 2u);
  EXPECT_EQ(shape.normalized_axis(-3), 0u);
  EXPECT_EQ(shape.normalized_axis(1), 1u);
  EXPECT_THROW(shape.normalized_axis(3), Error);
  EXPECT_THROW(shape.normalized_axis(-4), Error);
  EXPECT_THROW(Shape().normalized_axis(0), Error);
}

TEST(Shape, RankIsAtMostEight) {
  EXPECT_EQ(Shape(std::vector<std::int64_t>(8, 1)).rank(), 8u);
  EXPECT_THROW(Shape(std::vector<std::int64_t>(9, 1)), Error);
}

TEST(Shape, NegativeExtentsAreRefused) {
  EXPECT_THROW((Shape{2, -1}), Error);
}

TEST(Shape, AByteCountThatOverflowsIsRefused) {
  EXPECT_EQ((Shape{kTwoTo60 - 1}).elements(), kTwoTo60 - 1);
  EXPECT_THROW((Shape{kTwoTo60}), Error);
  EXPECT_THROW((Shape{kTwoTo60 / 2, 2}), Error);
  EXPECT_THROW((Shape{0, kTwoTo60, 16}), Error);
}

}  // namespace
}  // namespace nibble::inline core
