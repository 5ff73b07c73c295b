// SPDX-License-Identifier: Apache-2.0
// How examples of few channels lie on a GPU, where one convolution reads them: a stored pixel has
// the channels of several pixels, so that fewer of its 16 are filled up with nothing.
//
//   folded: squares of stride × stride pixels are one, and the convolution has stride 1
//   spread: each window's pixels of a row are one, and the convolution has one column; its rows may
//           be folded
#pragma once

#include <cstdint>
#include <vector>

#include "graph/picture.h"
#include "nibble/graph/op.h"

namespace nibble::inline engine {

// Stored pixel p has `count` pixels of the example: number d of them is p·step + origin + d.
struct EntryAxis {
  std::int64_t extent = 1;  // stored pixels
  std::int64_t step = 1;
  std::int64_t origin = 0;
  std::int64_t count = 1;
  // Along this axis, of the convolution as it was and on stored pixels.
  std::int64_t old_padding = 0;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;

  // The tap of the convolution as it was, or none of it, that meets pixel d of a stored tap.
  std::int64_t old_tap(std::int64_t tap, std::int64_t d) const {
    return (tap - padding) * step + old_padding + origin + d;
  }
  std::int64_t stored_pixel(std::int64_t pixel) const;  // that has this one of the example
};

struct EntryLayout {
  Picture example;
  EntryAxis y;
  EntryAxis x;

  // As it is: every pixel by itself.
  static EntryLayout plain(const Picture& example);
  // The one that leaves the least to multiply to the only reader of an example, or, where the
  // reader `can_overlap`, one that overlaps. `has_border`: what lies outside is stored as well.
  static EntryLayout best(const Picture& example, const Conv2d& conv, bool can_overlap,
                          bool has_border);

  Picture stored() const { return {y.extent, x.extent, y.count * x.count * example.channels}; }
  bool is_plain() const { return y.count == 1 && x.count == 1 && y.origin == 0 && x.origin == 0; }
  // What lies outside of examples is stored: windows begin with the first pixel.
  bool has_border() const { return !is_plain() && y.padding == 0 && x.padding == 0; }
  // Windows of four pixels of 16 bytes each, which a tensor core takes as they lie
  // (backend/cuda/banded_product.h): no number is stored twice.
  bool overlaps() const { return !is_plain() && stored().channels <= 16 && x.kernel == 4; }

  // The convolution on stored pixels, and its weights (out, rows, columns, in).
  Conv2d window(const Conv2d& conv) const;
  std::vector<std::int8_t> weights(const Conv2d& conv, const std::vector<std::int8_t>& old) const;

  // The channel of a stored pixel that is channel c of its pixel (dy, dx).
  std::int64_t channel(std::int64_t dy, std::int64_t dx, std::int64_t c) const {
    return (dy * x.count + dx) * example.channels + c;
  }
};

}  // namespace nibble::inline engine
