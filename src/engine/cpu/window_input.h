// SPDX-License-Identifier: Apache-2.0
// The input of a product as its windows see it: where they begin, and what a block of outputs
// reads.
#pragma once

#include <algorithm>
#include <utility>

#include "engine/cpu/packed_filters.h"

namespace nibble::inline engine {

// Pixels of y that follow one another, over all pictures, and how they are cut into tiles: whole
// ones, but for the last two, which share what is left.
struct PixelSpan {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t tile_pixels = 1;  // of a whole one

  std::int64_t tiles() const { return (count + tile_pixels - 1) / tile_pixels; }
  std::int64_t begin(std::int64_t tile) const {
    const std::int64_t last = tiles() - 1;
    if (tile < last || tile == 0) return tile * tile_pixels;
    return tile == last ? ((last - 1) * tile_pixels + count + 1) / 2 : count;
  }
};

struct OutputPixel {
  std::int64_t image = 0;
  std::int64_t y = 0;
  std::int64_t x = 0;
};

// Bytes of a pixel of the input, expanded.
std::int64_t pixel_bytes_of(const Place& in);

struct WindowInput {
  explicit WindowInput(const ProductSpec& spec);

  std::int64_t top_of(std::int64_t y) const {  // of y's first window
    return y * meeting.y * window.stride.y - window.padding.y;
  }
  std::int64_t left_of(std::int64_t x) const {
    return x * meeting.x * window.stride.x - window.padding.x + in.border;
  }
  std::int64_t width() const { return in.width + 2 * in.border; }  // of a stored row
  OutputPixel pixel_at(std::int64_t index) const;
  void advance(OutputPixel& pixel, std::int64_t pixels) const;  // within a row

  // Where pixel 0 of picture 0 is, or would be: an input in halves of bytes goes to `expanded`, as
  // far as the span reads it.
  const std::uint8_t* base(const EngineKernels& path, const std::byte* arena, const PixelSpan& span,
                           std::uint8_t* expanded) const;
  // What `expanded` needs for so many pixels.
  std::size_t expanded_bytes(std::int64_t pixels) const;

  Place in;
  Place out;
  Conv2d window;
  Extent2 meeting;
  std::int64_t outputs;  // of a pixel of y
  bool is_linear;
  std::int64_t pixel_bytes;

 private:
  std::pair<std::int64_t, std::int64_t> input_range(const PixelSpan& span) const;
};

}  // namespace nibble::inline engine
