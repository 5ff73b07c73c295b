// SPDX-License-Identifier: Apache-2.0
// A batch of int8 mantissas with one exponent: value = mantissa · 2^exponent.
#pragma once

#include <cstdint>

#include "graph/picture.h"

namespace nibble::inline backend {

// Images go through a network 16 at a time: they are the rows of every product's tile. So no border
// is ever multiplied, any stride is a list of pixels, and flattening moves nothing.
inline constexpr std::int64_t kGroup = 16;

constexpr std::int64_t round_up(std::int64_t value, std::int64_t to) {
  return (value + to - 1) / to * to;
}

// In memory a group is [pixel][image][channel], the channels filled up with zeros to a multiple of
// 4, which is what products read at once.
struct BlockPicture : Picture {
  BlockPicture() = default;
  BlockPicture(const Picture& picture) : Picture(picture) {}
  BlockPicture(std::int64_t rows, std::int64_t columns, std::int64_t channels_of_pixel)
      : Picture{rows, columns, channels_of_pixel} {}

  // Of some channels of a wider picture: its bytes from image to image.
  std::int64_t outer_stride = 0;

  std::int64_t stride() const { return outer_stride > 0 ? outer_stride : round_up(channels, 4); }
  std::int64_t pixel_bytes() const { return kGroup * stride(); }
  std::int64_t group_bytes() const { return pixels() * pixel_bytes(); }
};

constexpr std::int64_t groups_of(std::int64_t images) {
  return (images + kGroup - 1) / kGroup;
}

// Images beyond the last one of the batch, up to a whole group, are zeros.
struct BlockTensor {
  BlockPicture picture;
  std::int64_t images = 0;
  int exponent = 0;
  std::int8_t* data = nullptr;  // borrowed

  std::int64_t groups() const { return groups_of(images); }
  std::int64_t bytes() const { return groups() * picture.group_bytes(); }
  // How many of a group's images are there.
  std::int64_t images_in(std::int64_t group) const {
    return images - group * kGroup < kGroup ? images - group * kGroup : kGroup;
  }
  std::int8_t* at(std::int64_t group, std::int64_t pixel) const {
    return data + group * picture.group_bytes() + pixel * picture.pixel_bytes();
  }
  // Of sums of 16 bits, which lie in the same order.
  std::int16_t* sums_at(std::int64_t group, std::int64_t pixel) const {
    return reinterpret_cast<std::int16_t*>(data) + (at(group, pixel) - data);
  }
};

// Some channels, in the same memory.
BlockTensor channels_of(const BlockTensor& tensor, std::int64_t first, std::int64_t count);

void copy_bytes(const BlockTensor& from, const BlockTensor& to);  // of one shape

// Zeros in all that no layer writes: images and channels that only fill up.
void clear_filling(const BlockTensor& tensor);

}  // namespace nibble::inline backend
