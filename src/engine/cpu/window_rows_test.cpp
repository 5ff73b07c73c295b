// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/window_rows.h"

#include <gtest/gtest.h>

#include "nibble/core/error.h"

namespace nibble::inline engine {
namespace {

// A 1 by 1 convolution over a row of pixels with 64 channels of halves of bytes.
WindowRows rows_of(std::int64_t width, Extent2 stride) {
  ProductSpec spec;
  spec.in = {.storage = FilterStorage::u4, .width = width, .channels = 64, .stride = 32};
  spec.out = {.storage = FilterStorage::u8,
              .width = (width - 1) / stride.x + 1,
              .channels = 64,
              .stride = 64};
  spec.window = {.channels = 64, .kernel = {1, 1}, .stride = stride};
  return WindowRows(spec, {.taps = 1, .depth = 64});
}

// The rows of three pictures: the block may begin and end within one.
TEST(WindowRows, HaveRoomForWhatABlockReads) {
  EXPECT_EQ(rows_of(100, {1, 1}).expanded_bytes(150), 3U * 100 * 64 + kPlaceSlack);
}

// Stride times width once wrapped around 2^64, and rows were written behind the memory.
TEST(WindowRows, HaveRoomWhateverTheStride) {
  const std::int64_t width = 8389784;
  const WindowRows rows = rows_of(width, {2142997093, 2147483647});
  EXPECT_GE(rows.expanded_bytes(48), static_cast<std::size_t>(width * 64));
  EXPECT_LE(rows.expanded_bytes(48), static_cast<std::size_t>(50 * width * 64 + kPlaceSlack));
}

TEST(WindowRows, RefuseWhatNoMemoryHolds) {
  EXPECT_THROW(rows_of(std::int64_t{1} << 55, {1, 1}).expanded_bytes(std::int64_t{1} << 57), Error);
}

}  // namespace
}  // namespace nibble::inline engine
