// SPDX-License-Identifier: Apache-2.0
// Narrow convolutions of stride 1 on Hopper: lines of a picture are brought once for all taps.
//
// A tile is a band of whole lines of the result. Its operand is the same lines of the source with
// what lies around them, pixel after pixel; row r of a tap's product is then pixel r + (tap's
// offset) of what was brought, so that nine taps take the same bytes. Rows between the end of a
// line and the beginning of the next are computed too, and thrown away. Filters stay.
//
// Pixels of 16 bytes overlap: four of them, which lie side by side, are the depth of one tap.
#pragma once

#include <cstdint>
#include <optional>

#include "backend/cuda/device_queue.h"
#include "backend/cuda/product.h"
#include "backend/cuda/window_copies.h"

namespace nibble::cuda {

inline constexpr TileSize kBandTile = {128, 64};
inline constexpr std::uint32_t kBandBytes = 75 << 10;  // at most: three blocks a multiprocessor

struct BandedShape {
  std::uint32_t pixel_bytes;
  Divisor bands;            // of a picture
  Divisor pitch;            // of lines that are brought, in pixels
  std::uint32_t lines;      // of a band
  std::uint32_t extent[2];  // x, y of the result
  std::int32_t first[2];    // x, y of the first tap at the result's first pixel; x in elements
  std::uint32_t taps[2];    // x, y; of pixels that overlap one x has all
  std::uint32_t line_bytes;
  std::uint32_t rows_bytes;   // of one copy
  std::uint32_t added_bytes;  // the same of addends
  std::uint32_t stage_bytes;
  std::uint32_t stages;

  bool overlaps() const { return pixel_bytes == 16; }
  std::uint32_t filter_bytes() const;
  std::uint32_t shared_bytes() const;
};

// Whether a product may be cut so, and how; `has_addend`: of as many bytes a pixel as the source
// has.
std::optional<BandedShape> banded_shape(const WindowProduct& product, bool has_addend);

struct alignas(64) BandedProduct {
  TensorMap rows;
  TensorMap columns;
  TensorMap added;
  SumFinish finish;
  BandedShape shape;
  std::uint32_t tiles;  // bands of all pictures
  std::uint8_t unused[64 - (sizeof(SumFinish) + sizeof(BandedShape) + 4) % 64];
};

// `added`: the first addend, null where there is none; its pictures are `added_image` bytes apart.
BandedProduct banded_product(const BandedShape& shape, const WindowProduct& product,
                             const SumFinish& finish, const std::int8_t* added,
                             std::uint64_t added_image);

void queue(DeviceQueue& queue, const BandedProduct& job);

}  // namespace nibble::cuda
