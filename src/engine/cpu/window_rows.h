// SPDX-License-Identifier: Apache-2.0
// Where a product finds the windows of its outputs in the stored input.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/cpu/packed_filters.h"

namespace nibble::inline engine {

// Pixels of y that follow one another, over all pictures, and how they are cut into tiles.
struct PixelSpan {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t tiles = 0;

  std::int64_t begin(std::int64_t tile) const {
    return tile * (count / tiles) + std::min(tile, count % tiles);
  }
};

class WindowRows {
 public:
  WindowRows(const ProductSpec& spec, const FilterShape& shape);

  // Fills rows, [tile][tap][pixel of the tile], and the pieces of all tiles. Where y is the largest
  // of a window, its outputs are pixels of a tile, one after another. An input in halves of bytes
  // goes to `expanded` first.
  void find(const EngineKernels& path, const std::byte* arena, const PixelSpan& span,
            const std::uint8_t** rows, FilterPiece* pieces, std::uint8_t* expanded) const;

  // What `expanded` needs for so many pixels.
  std::size_t expanded_bytes(std::int64_t pixels) const;

  const std::uint8_t* zeros() const { return zeros_.data(); }  // where there is no picture

 private:
  struct OutputPixel {
    std::int64_t image = 0;
    std::int64_t y = 0;
    std::int64_t x = 0;
  };

  // Of a window's first pixel.
  struct Tap {
    std::int64_t y = 0;
    std::int64_t x = 0;
    std::int64_t offset = 0;  // in bytes
  };

  // Taps that a tile needs.
  struct TapRange {
    std::int64_t first = 0;
    std::int64_t end = 0;

    TapRange joined(const TapRange& other) const {
      return {std::min(first, other.first), std::max(end, other.end)};
    }
  };

  std::int64_t top_of(std::int64_t y) const {  // of y's first window
    return y * meeting_.y * window_.stride.y - window_.padding.y;
  }
  std::int64_t left_of(std::int64_t x) const {
    return x * meeting_.x * window_.stride.x - window_.padding.x + in_.border;
  }
  bool lies_inside(const OutputPixel& pixel, std::int64_t pixels) const;
  OutputPixel pixel_at(std::int64_t index) const;
  void advance(OutputPixel& pixel, std::int64_t pixels) const;
  TapRange taps_inside(std::int64_t top) const;
  void find_run_rows(const std::uint8_t* base, std::int64_t image, std::int64_t y, std::int64_t x,
                     std::int64_t run, const std::uint8_t** rows, std::int64_t step) const;
  std::pair<std::int64_t, std::int64_t> input_range(const PixelSpan& span) const;

  Place in_;
  Place out_;
  Conv2d window_;
  Extent2 meeting_;
  std::int64_t outputs_;  // of a pixel of y
  bool is_linear_;
  FilterShape shape_;
  std::int64_t pixel_bytes_;  // of the input, expanded
  std::vector<std::uint8_t> zeros_;
  std::vector<Tap> taps_;
};

// Bytes of a pixel of the input, expanded.
std::int64_t pixel_bytes_of(const Place& in);

}  // namespace nibble::inline engine
