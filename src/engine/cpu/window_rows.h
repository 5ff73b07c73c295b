// SPDX-License-Identifier: Apache-2.0
// Where a product finds the windows of its outputs in the stored input.
#pragma once

#include <vector>

#include "engine/cpu/window_input.h"

namespace nibble::inline engine {

class WindowRows {
 public:
  WindowRows(const ProductSpec& spec, const FilterShape& shape);

  // Fills rows, [tile][tap][pixel of the tile], and the pieces of all tiles, for an input whose
  // pixel 0 of picture 0 is at `base`. Where y is the largest of a window, its outputs are pixels
  // of a tile, one after another.
  void find(const std::uint8_t* base, const PixelSpan& span, const std::uint8_t** rows,
            FilterPiece* pieces) const;

  const std::uint8_t* zeros() const { return zeros_.data(); }  // where there is no picture

 private:
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

  bool lies_inside(const OutputPixel& pixel, std::int64_t pixels) const;
  TapRange taps_inside(std::int64_t top) const;
  void find_run_rows(const std::uint8_t* base, std::int64_t image, std::int64_t y, std::int64_t x,
                     std::int64_t run, const std::uint8_t** rows, std::int64_t step) const;

  WindowInput input_;
  FilterShape shape_;
  std::vector<std::uint8_t> zeros_;
  std::vector<Tap> taps_;
};

}  // namespace nibble::inline engine
