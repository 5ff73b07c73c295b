// SPDX-License-Identifier: Apache-2.0
// Random crop, flip and cutout of images: a function of (seed, epoch, image) alone.
#pragma once

#include <cstdint>
#include <span>

#include "nibble/core/tensor.h"

namespace nibble::inline data {

inline constexpr std::uint32_t kAugmentStream = 0xDA7A0003u;

struct AugmentOptions {
  std::int32_t padding = 0;  // p: crop of the original size out of the image with a border of p
  bool has_flip = false;     // left and right change places for every other image
  std::int32_t cutout = 0;   // s: side of a square that is filled
  std::uint8_t fill = 0;     // value of the border and of the square, in all channels
};

// What is done to one image: crop, then flip, then cutout. With x' = is_flipped ? width - 1 - x : x
//   out(y, x) = in(y + shift_y, x' + shift_x), outside of the image `fill`, and
//   out(y, x) = fill where cut_y <= y < cut_y + s and cut_x <= x < cut_x + s.
struct Augmentation {
  std::int32_t shift_y = 0;  // -p to p
  std::int32_t shift_x = 0;
  bool is_flipped = false;
  std::int32_t cut_y = 0;  // -⌊s/2⌋ to height - 1 - ⌊s/2⌋: the square may hang over the edge
  std::int32_t cut_x = 0;
};

struct AugmentKey {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
};

// With d(k) = draw32({seed, kAugmentStream, step = epoch}, 8·image + k) and
// u(k, n) = ⌊d(k)·n / 2^32⌋, uniform in 0 to n - 1 up to n·2^-32:
//   shift_y = u(0, 2p+1) - p,  shift_x = u(1, 2p+1) - p,  is_flipped = u(2, 2) = 1,
//   cut_y = u(3, height) - ⌊s/2⌋,  cut_x = u(4, width) - ⌊s/2⌋.
// What an option turns off is 0, and turning it off changes no other draw.
Augmentation draw_augmentation(const AugmentOptions& options, std::int64_t height,
                               std::int64_t width, const AugmentKey& key, std::int64_t image);

// One image, (height, width, channels), as `drawn` says it.
void augment_image(ConstTensorView image, const AugmentOptions& options, const Augmentation& drawn,
                   TensorView result);

// A batch: image k of `batch` is image indices[k] of `images`, augmented. Both u8 or both f32,
// NHWC, images of the same size. With default options it is a copy.
void gather_images(ConstTensorView images, std::span<const std::int32_t> indices,
                   const AugmentOptions& options, const AugmentKey& key, TensorView batch);

}  // namespace nibble::inline data
