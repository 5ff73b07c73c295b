// SPDX-License-Identifier: Apache-2.0
// The rounding of tiles to int8 on every path against the definition, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "core/isa.h"
#include "kernels/integer_paths.h"
#include "kernels/products/product_kernels.h"

namespace nibble::inline kernels {
namespace {

struct Rounded {
  std::vector<std::int8_t> out;
  std::uint32_t max_magnitude = 0;
  std::int64_t saturated = 0;
  bool operator==(const Rounded&) const = default;
};

struct TileShape {
  int rows = 1;
  int columns = 1;
  int c_gap = 0;
  int out_gap = 0;
};

std::size_t size_of(const TileShape& shape, int gap) {
  return static_cast<std::size_t>((shape.rows - 1) * (shape.columns + gap) + shape.columns);
}

Rounded round(const ProductKernels& path, const std::vector<std::int32_t>& c,
              const TileShape& shape, int shift) {
  Rounded result{.out = std::vector<std::int8_t>(size_of(shape, shape.out_gap), 99)};
  const TileOutcome outcome = path.requantize({.c = c.data(),
                                               .c_stride = shape.columns + shape.c_gap,
                                               .rows = shape.rows,
                                               .columns = shape.columns,
                                               .shift = shift,
                                               .out = result.out.data(),
                                               .out_stride = shape.columns + shape.out_gap});
  result.max_magnitude = outcome.max_magnitude;
  result.saturated = outcome.saturated;
  return result;
}

void expect_definition_everywhere(const std::vector<std::int32_t>& c, const TileShape& shape,
                                  int shift) {
  const Rounded expected = round(reference::kProductKernels, c, shape, shift);
  for (const Isa isa : supported_isas()) {
    set_isa(isa);
    const Rounded got = round(product_kernels(), c, shape, shift);
    reset_isa();
    ASSERT_EQ(got.out, expected.out) << name_of(isa) << ", shift " << shift;
    ASSERT_EQ(got.max_magnitude, expected.max_magnitude) << name_of(isa);
    ASSERT_EQ(got.saturated, expected.saturated) << name_of(isa) << ", shift " << shift;
  }
}

TEST(Requantize, HalvesGoAwayFromZeroAndTheRestToTheNearest) {
  const std::vector<std::int32_t> c = {5, 6, 7, -5, -6, -7, 2, -2, 1, -1, 0};
  const TileShape shape = {.columns = static_cast<int>(c.size())};
  const Rounded expected = {{1, 2, 2, -1, -2, -2, 1, -1, 0, 0, 0}, 7, 0};
  EXPECT_EQ(round(reference::kProductKernels, c, shape, 2), expected);
  expect_definition_everywhere(c, shape, 2);
}

TEST(Requantize, WhatRoundsBeyondTheRangeIsClampedAndCounted) {
  const std::vector<std::int32_t> c = {254, 255, -254, -255, 100000, -100000};
  const TileShape shape = {.columns = static_cast<int>(c.size())};
  const Rounded expected = {{127, 127, -127, -127, 127, -127}, 100000, 4};
  EXPECT_EQ(round(reference::kProductKernels, c, shape, 1), expected);
  expect_definition_everywhere(c, shape, 1);
}

TEST(Requantize, EveryShiftOfTheWholeRange) {
  std::mt19937 bits(5);
  const TileShape shape = {.rows = 16, .columns = 64};
  std::vector<std::int32_t> c(size_of(shape, 0));
  for (int shift = 0; shift <= 31; ++shift) {
    // Magnitudes near the clamp of this shift, halves of it, and the ends of the range.
    for (std::int32_t& x : c) x = static_cast<std::int32_t>(bits()) >> std::max(0, 23 - shift);
    for (std::size_t i = 0; i < 300; ++i) c[i] = static_cast<std::int32_t>(bits() << shift >> 1);
    c[3] = std::numeric_limits<std::int32_t>::max();
    c[4] = -std::numeric_limits<std::int32_t>::max();
    expect_definition_everywhere(c, shape, shift);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Requantize, EveryWidthLeavesItsNeighboursAlone) {
  std::mt19937 bits(6);
  for (int columns = 1; columns <= 70; ++columns) {
    for (const int rows : {1, 5, 16}) {
      const TileShape shape = {.rows = rows, .columns = columns, .c_gap = 3, .out_gap = 5};
      std::vector<std::int32_t> c(size_of(shape, shape.c_gap));
      for (std::int32_t& x : c) x = static_cast<std::int32_t>(bits()) >> 16;
      expect_definition_everywhere(c, shape, 8);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Requantize, ASmallTileSaysItsOwnLargestMagnitude) {
  for (const std::int32_t x : {0, 1, -1, 1 << 30, -(1 << 30)}) {
    expect_definition_everywhere({x}, {}, 3);
  }
}

}  // namespace
}  // namespace nibble::inline kernels
