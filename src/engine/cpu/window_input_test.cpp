// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/window_input.h"

#include <gtest/gtest.h>

#include "nibble/core/error.h"

namespace nibble::inline engine {
namespace {

// A 1 by 1 convolution over a row of pixels with 64 channels of halves of bytes.
WindowInput input_of(std::int64_t width, Extent2 stride) {
  ProductSpec spec;
  spec.in = {.storage = FilterStorage::u4, .width = width, .channels = 64, .stride = 32};
  spec.out = {.storage = FilterStorage::u8,
              .width = (width - 1) / stride.x + 1,
              .channels = 64,
              .stride = 64};
  spec.window = {.channels = 64, .kernel = {1, 1}, .stride = stride};
  return WindowInput(spec);
}

// The rows of three pictures: the block may begin and end within one.
TEST(WindowInput, HasRoomForWhatABlockReads) {
  EXPECT_EQ(input_of(100, {1, 1}).expanded_bytes(150), 3U * 100 * 64 + kPlaceSlack);
}

// Stride times width once wrapped around 2^64, and rows were written behind the memory.
TEST(WindowInput, HasRoomWhateverTheStride) {
  const std::int64_t width = 8389784;
  const WindowInput input = input_of(width, {2142997093, 2147483647});
  EXPECT_GE(input.expanded_bytes(48), static_cast<std::size_t>(width * 64));
  EXPECT_LE(input.expanded_bytes(48), static_cast<std::size_t>(50 * width * 64 + kPlaceSlack));
}

TEST(WindowInput, RefusesWhatNoMemoryHolds) {
  EXPECT_THROW(input_of(std::int64_t{1} << 55, {1, 1}).expanded_bytes(std::int64_t{1} << 57),
               Error);
}

}  // namespace
}  // namespace nibble::inline engine
