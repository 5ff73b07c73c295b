// SPDX-License-Identifier: Apache-2.0
// What the copy engine of Hopper (TMA) is told of a tensor, and which box of it one copy brings.
#pragma once

#include <array>
#include <cstdint>

namespace nibble::cuda {

// The driver's own 128 bytes; kernels have them at addresses that are multiples of 64.
struct TensorMap {
  std::uint64_t words[16];
};

// Bytes beside one another that a copy brings of every line, which decides how lines are swizzled.
inline constexpr std::array<std::uint32_t, 3> kSegments = {128, 64, 32};
// The longest that leaves least of a line of so many bytes empty.
std::uint32_t segment_of(std::uint32_t bytes);

// Lines of `extents[0]` bytes in up to four more dimensions, `strides` bytes apart; what lies
// outside is zero.
struct TensorBox {
  const std::int8_t* data = nullptr;
  std::uint32_t rank = 0;
  std::array<std::uint64_t, 5> extents{};
  std::array<std::uint64_t, 4> strides{};  // of the second dimension and those behind it
  std::array<std::uint32_t, 5> box{};
  bool has_long_lines = false;  // counted in 8 bytes, and not swizzled
  bool has_sums = false;        // of 4 bytes, which extents and the box count: 128 bytes a line
};
TensorMap map_of(const TensorBox& tensor);

// Pictures of `channels` bytes a pixel whose pixels are walked through by a window: the first tap
// of the window is at first + stride·(0 … count-1). A copy brings `pixels` places of one tap, from
// picture to picture.
struct WindowBox {
  const std::int8_t* data = nullptr;
  std::uint64_t channels = 0;
  std::uint64_t width = 0;
  std::uint64_t height = 0;
  std::uint64_t images = 0;
  std::uint64_t image_bytes = 0;
  std::array<std::int32_t, 2> first{};  // x, y
  std::array<std::int32_t, 2> count{};
  std::array<std::int32_t, 2> stride{1, 1};
  std::uint32_t segment = 0;
  std::uint32_t pixels = 0;
};
// Whether the copy engine can count so far.
bool can_map(const WindowBox& windows);
TensorMap map_of(const WindowBox& windows);

}  // namespace nibble::cuda
