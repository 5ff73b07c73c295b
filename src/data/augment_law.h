// SPDX-License-Identifier: Apache-2.0
// The law of augmentation for one image and for one pixel, for CPUs and GPUs; nibble/data/augment.h
// has it in words.
#pragma once

#include <cstdint>

#include "nibble/core/host_device.h"
#include "nibble/data/augment.h"

namespace nibble::inline data {

inline constexpr std::uint64_t kAugmentDraws = 8;  // of an image

// draw(k) is the k-th draw of the image.
template <class Draw>
NIBBLE_HOST_DEVICE constexpr Augmentation augmentation_by(const AugmentOptions& options,
                                                          std::int64_t height, std::int64_t width,
                                                          const Draw& draw) {
  const auto below = [&](std::uint64_t k, std::int64_t bound) {
    const std::uint64_t scaled = (std::uint64_t{draw(k)} * static_cast<std::uint64_t>(bound)) >> 32;
    return static_cast<std::int32_t>(scaled);
  };
  Augmentation drawn;
  if (options.padding > 0) {
    drawn.shift_y = below(0, 2 * options.padding + 1) - options.padding;
    drawn.shift_x = below(1, 2 * options.padding + 1) - options.padding;
  }
  if (options.has_flip) drawn.is_flipped = below(2, 2) == 1;
  if (options.cutout > 0) {
    drawn.cut_y = below(3, height) - options.cutout / 2;
    drawn.cut_x = below(4, width) - options.cutout / 2;
  }
  return drawn;
}

// Where pixel (y, x) of the result comes from.
struct PixelSource {
  std::int32_t y = 0;
  std::int32_t x = 0;
  bool is_filled = false;  // from nowhere
};

NIBBLE_HOST_DEVICE constexpr PixelSource source_of(const AugmentOptions& options,
                                                   const Augmentation& drawn, std::int32_t height,
                                                   std::int32_t width, std::int32_t y,
                                                   std::int32_t x) {
  PixelSource source{y + drawn.shift_y, (drawn.is_flipped ? width - 1 - x : x) + drawn.shift_x};
  const bool is_outside = source.y < 0 || source.y >= height || source.x < 0 || source.x >= width;
  const bool is_cut = y >= drawn.cut_y && y < drawn.cut_y + options.cutout && x >= drawn.cut_x &&
                      x < drawn.cut_x + options.cutout;
  source.is_filled = is_outside || is_cut;
  return source;
}

}  // namespace nibble::inline data
