// SPDX-License-Identifier: Apache-2.0
// Windows of pictures and filters as the copy engine is told of them.
#pragma once

#include "backend/cases.h"
#include "backend/cuda/device_params.h"
#include "backend/cuda/tensor_map.h"
#include "graph/picture.h"

namespace nibble::cuda {

// Rows are the windows of `source` that the pixels of `result` see, columns are filters (tap,
// channel) one behind the other, a multiple of 64 of them. For errors the first tap comes last, at
// stride 1.
struct WindowProduct {
  const std::int8_t* data = nullptr;
  std::uint32_t pixel_bytes = 0;
  std::uint64_t image_bytes = 0;
  std::uint64_t images = 0;
  Picture source;
  Picture result;
  SlidingWindow window;
  bool is_turned = false;
  const std::int8_t* filters = nullptr;
  std::uint32_t columns = 0;
};

// Whole lines of a picture, or all of several pictures, that are rows of a tile: the engine brings
// them faster than windows.
struct WindowBand {
  std::uint32_t lines = 0;  // none: rows go on from picture to picture
  std::uint32_t images = 1;
};
// Of at most so many rows; none, where too few would be used.
WindowBand band_of(const WindowProduct& product, std::uint32_t rows);

// Pixels one behind the other, of which a copy brings `segment` bytes of `rows`.
TensorBox pixels_box(const std::int8_t* data, std::uint32_t pixel_bytes, std::uint64_t pixels,
                     std::uint32_t segment, std::uint32_t rows);

// Some columns of filters, of which a copy brings `segment` bytes.
TensorBox filters_box(const WindowProduct& product, std::uint32_t segment, std::uint32_t columns);

// Whether the engine can count so far.
bool can_copy(const WindowProduct& product);

// For tiles of so many rows and columns, or of a band.
WindowCopies window_copies(const WindowProduct& product, std::uint32_t rows, std::uint32_t columns,
                           const WindowBand& band = {});

}  // namespace nibble::cuda
