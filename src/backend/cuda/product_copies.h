// SPDX-License-Identifier: Apache-2.0
// Products as the copy engine of Hopper brings their operands.
#pragma once

#include <array>
#include <vector>

#include "backend/cases.h"
#include "backend/cuda/device_params.h"
#include "backend/cuda/product.h"

namespace nibble::inline backend {

inline Divisor divisor_by(std::int64_t number) {
  return Divisor::of(static_cast<std::uint32_t>(number));
}

// One direction of a layer: forward, or errors back.
struct WindowPass {
  const ProductCase& product;
  bool is_forward;
  const std::int32_t* order;  // of pixels, on the GPU: longest_first(); null: as they lie

  const Picture& source() const { return is_forward ? product.input : product.output; }
  const Picture& result() const { return is_forward ? product.output : product.input; }
  // x, y of the first tap that the first pixel of the result meets; the steps from pixel to pixel.
  std::array<std::int32_t, 2> first() const;
  std::array<std::int32_t, 2> stride() const;
};

// Pixels of the result, those that meet most taps in front.
std::vector<std::int32_t> longest_first(const WindowPass& pass);

// Of segment 0 where the product must do with tables.
cuda::WindowCopies window_copies(const WindowPass& pass, cuda::ProductPath path,
                                 const cuda::ProductShape& shape, const cuda::Rows& source,
                                 std::int64_t images);

// The same with tiles of patches, for a result that is pooled on its way; of segment 0 where that
// cannot be.
cuda::WindowCopies patch_copies(const WindowPass& pass, const cuda::WindowCopies& copies,
                                std::uint32_t tile_rows, const cuda::Rows& source,
                                std::int64_t images);

// `images` are filled up to a multiple of 16.
bool can_copy_gradient(const ProductCase& product, cuda::ProductPath path, std::int64_t images);
// Of inputs and errors that are turned: images side by side, then the channels of a pixel. Tiles
// have 64, 192 or 256 columns.
cuda::GradientCopies gradient_copies(const ProductCase& product, const std::int8_t* inputs,
                                     const std::int8_t* errors, std::int64_t images,
                                     std::uint32_t tile_columns);
// And where their sums of 32 bits go, of so many planes; in boxes, where those of a line are
// enough.
void map_sums(const ProductCase& product, std::int32_t* sums, std::uint32_t planes,
              cuda::GradientCopies& copies);

}  // namespace nibble::inline backend
