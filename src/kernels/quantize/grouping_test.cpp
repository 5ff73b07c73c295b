// SPDX-License-Identifier: Apache-2.0
// Which elements share a scale, against a walk over all indices.
#include "kernels/quantize/grouping.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "nibble/core/error.h"

namespace nibble::inline kernels {
namespace {

Scaling along(Granularity granularity, int axis, int block = 0) {
  return {.kind = ScaleKind::absmax, .granularity = granularity, .axis = axis, .block = block};
}

std::vector<std::int64_t> groups_of(const Shape& shape, const Scaling& scaling) {
  const Grouping grouping = grouping_of(shape, scaling);
  std::vector<std::int64_t> groups(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i] = grouping.group_of(static_cast<std::int64_t>(i));
  }
  return groups;
}

using Groups = std::vector<std::int64_t>;

TEST(Grouping, ATensorIsOneGroup) {
  EXPECT_EQ(groups_of({2, 3}, along(Granularity::tensor, -1)), (Groups{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(grouping_of({2, 3}, along(Granularity::tensor, -1)).groups(), 1);
}

TEST(Grouping, AnAxisHasAGroupAnIndex) {
  EXPECT_EQ(groups_of({2, 3}, along(Granularity::axis, 0)), (Groups{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(groups_of({2, 3}, along(Granularity::axis, 1)), (Groups{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(groups_of({2, 3}, along(Granularity::axis, -1)), (Groups{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(groups_of({2, 2, 2}, along(Granularity::axis, 1)), (Groups{0, 0, 1, 1, 0, 0, 1, 1}));
}

TEST(Grouping, TheLastBlockOfALineMayBeShorter) {
  EXPECT_EQ(groups_of({2, 5}, along(Granularity::block, -1, 2)),
            (Groups{0, 0, 1, 1, 2, 3, 3, 4, 4, 5}));
  EXPECT_EQ(groups_of({3}, along(Granularity::block, 0, 8)), (Groups{0, 0, 0}));
}

TEST(Grouping, BlocksAlongAnOuterAxisInterleave) {
  EXPECT_EQ(groups_of({3, 2}, along(Granularity::block, 0, 2)), (Groups{0, 1, 0, 1, 2, 3}));
}

TEST(Grouping, EqualsTheCoordinatesOfTheScalesShape) {
  const Shape shape{3, 4, 5};
  for (int axis = -3; axis < 3; ++axis) {
    for (int block = 1; block <= 6; ++block) {
      const Scaling scaling = along(Granularity::block, axis, block);
      const Grouping grouping = grouping_of(shape, scaling);
      const Shape scales = grouping.scales_shape(shape, scaling);
      EXPECT_EQ(grouping.groups(), scales.elements());
      const std::size_t split = shape.normalized_axis(axis);
      std::int64_t element = 0;
      for (std::int64_t i = 0; i < 3; ++i) {
        for (std::int64_t j = 0; j < 4; ++j) {
          for (std::int64_t k = 0; k < 5; ++k, ++element) {
            std::array<std::int64_t, 3> at = {i, j, k};
            at[split] /= block;
            const std::int64_t expected = (at[0] * scales[1] + at[1]) * scales[2] + at[2];
            ASSERT_EQ(grouping.group_of(element), expected) << axis << " " << block;
          }
        }
      }
    }
  }
}

TEST(Grouping, ScalesHaveTheShapeOfTheirGroups) {
  const auto shape_of = [](const Shape& shape, const Scaling& scaling) {
    return grouping_of(shape, scaling).scales_shape(shape, scaling);
  };
  EXPECT_EQ(shape_of({4, 6}, along(Granularity::tensor, -1)), Shape{});
  EXPECT_EQ(shape_of({4, 6}, along(Granularity::axis, 0)), Shape{4});
  EXPECT_EQ(shape_of({4, 6}, along(Granularity::axis, -1)), Shape{6});
  EXPECT_EQ(shape_of({4, 6}, along(Granularity::block, -1, 4)), (Shape{4, 2}));
  EXPECT_EQ(shape_of({4, 6}, along(Granularity::block, 0, 3)), (Shape{2, 6}));
}

TEST(Grouping, AScalarIsOneGroupWhateverTheGranularity) {
  for (const Granularity granularity :
       {Granularity::tensor, Granularity::axis, Granularity::block}) {
    const Scaling scaling = along(granularity, -1, 16);
    EXPECT_EQ(groups_of(Shape{}, scaling), Groups{0});
    EXPECT_EQ(grouping_of(Shape{}, scaling).groups(), 1);
    EXPECT_EQ(grouping_of(Shape{}, scaling).scales_shape(Shape{}, scaling).elements(), 1);
  }
}

TEST(Grouping, AnEmptyTensorHasNoBlocks) {
  for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, 3}}) {
    EXPECT_EQ(grouping_of(shape, along(Granularity::tensor, -1)).groups(), 1);
    EXPECT_EQ(grouping_of(shape, along(Granularity::block, -1, 4)).groups(), 0);
    const Scaling first = along(Granularity::block, 0, 4);
    EXPECT_EQ(grouping_of(shape, first).scales_shape(shape, first).elements(), 0);
    EXPECT_EQ(grouping_of(shape, along(Granularity::axis, 0)).groups(), shape[0]);
  }
}

TEST(Grouping, RefusesAnAxisThatTheTensorDoesNotHave) {
  EXPECT_THROW(grouping_of({2, 3}, along(Granularity::axis, 2)), Error);
  EXPECT_THROW(grouping_of({2, 3}, along(Granularity::block, -3, 4)), Error);
  EXPECT_NO_THROW(grouping_of({2, 3}, along(Granularity::tensor, 5)));
}

}  // namespace
}  // namespace nibble::inline kernels
