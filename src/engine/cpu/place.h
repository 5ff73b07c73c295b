// SPDX-License-Identifier: Apache-2.0
// Where a value lies in the arena of a run, and how its integers are kept.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/engine/engine_kernels.h"
#include "nibble/graph/integer_bounds.h"

namespace nibble::inline engine {

// Pictures are NHWC; a vector is a picture of one pixel. Storage u8 keeps value + zero, u4 halves
// of bytes as the kernel has them, s32 the value itself.
struct Place {
  FilterStorage storage = FilterStorage::none;  // none: it lies nowhere
  int zero = 0;
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t channels = 1;
  std::int64_t border = 0;  // columns of zeros on both sides of each row
  std::int64_t stride = 0;  // bytes from pixel to pixel
  std::size_t offset = 0;   // in the arena

  std::int64_t pixels() const { return height * width; }
  std::int64_t row_bytes() const { return (width + 2 * border) * stride; }
  std::int64_t image_bytes() const { return height * row_bytes(); }  // of a checked place: fits
  std::int64_t at(std::int64_t image, std::int64_t y, std::int64_t x) const {
    return (image * height + y) * row_bytes() + (x + border) * stride;
  }
  std::int64_t channel_bytes(std::int64_t channel) const {  // from the first; u4: of a group
    if (storage == FilterStorage::u4) return channel / 2;
    return storage == FilterStorage::s32 ? channel * 4 : channel;
  }
  bool is_stored() const { return storage != FilterStorage::none; }
};

inline constexpr std::int64_t kPlaceSlack = 64;  // bytes behind a place that may be read

// How integers of that range are kept. `may_pack`: all readers take halves of bytes.
void set_storage(Place& place, const Interval& range, bool may_pack);

// Throws unless 64 bits hold the bytes of an image, so that all offsets within it fit.
void check_place(const Place& place);

// Of u4: the byte that holds a channel, 32 of them in the low halves and 32 in the high ones.
inline std::int64_t packed_at(std::int64_t channel) {
  return channel / 64 * 32 + channel % 32;
}

// One integer, slowly.
inline std::int64_t read_value(const Place& place, const std::byte* pixel, std::int64_t channel) {
  switch (place.storage) {
    case FilterStorage::u8:
      return static_cast<std::int64_t>(pixel[channel]) - place.zero;
    case FilterStorage::u4: {
      const auto both = static_cast<int>(pixel[packed_at(channel)]);
      return channel % 64 < 32 ? both & 15 : both >> 4;
    }
    default:
      return reinterpret_cast<const std::int32_t*>(pixel)[channel];
  }
}

inline void write_value(const Place& place, std::byte* pixel, std::int64_t channel,
                        std::int64_t value) {
  switch (place.storage) {
    case FilterStorage::u8:
      pixel[channel] = static_cast<std::byte>(value + place.zero);
      break;
    case FilterStorage::u4: {
      std::byte& both = pixel[packed_at(channel)];
      const auto half = static_cast<std::byte>(value);
      both =
          channel % 64 < 32 ? (both & std::byte{240}) | half : (both & std::byte{15}) | half << 4;
      break;
    }
    default:
      reinterpret_cast<std::int32_t*>(pixel)[channel] = static_cast<std::int32_t>(value);
  }
}

}  // namespace nibble::inline engine
