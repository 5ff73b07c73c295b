// SPDX-License-Identifier: Apache-2.0
// Where a value lies in the arena of a run on a GPU, and how its integers are kept.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/cuda/device_value.h"
#include "graph/picture.h"
#include "nibble/graph/integer_bounds.h"

namespace nibble::inline engine {

struct DevicePlace {
  Picture picture;
  bool has_words = false;        // false: bytes
  std::int32_t base = 0;         // of bytes: the number is byte + base, -128 <= byte <= 127
  bool has_border = false;       // a pixel of zeros behind each picture
  std::size_t offset = 0;        // in the arena
  std::int64_t more_chunks = 0;  // of a pixel, of nothing

  std::int64_t chunks() const {
    return (picture.channels + cuda::kChunk - 1) / cuda::kChunk + more_chunks;
  }
  std::int64_t filled_channels() const { return chunks() * cuda::kChunk; }
  std::int64_t pixel_bytes() const { return filled_channels() * (has_words ? 4 : 1); }
  std::int64_t image_bytes() const {
    return (picture.pixels() + (has_border ? 1 : 0)) * pixel_bytes();
  }

  std::int8_t* data(std::int8_t* arena) const { return arena + offset; }
  cuda::DeviceValue in(std::int8_t* arena) const;

  // How integers of that range are kept.
  void set_storage(const Interval& range);
  void set_storage_as(const DevicePlace& other);

  // One integer of an image that lies at `bytes`.
  std::int32_t number(const std::byte* bytes, std::int64_t pixel, std::int64_t channel) const;
};

}  // namespace nibble::inline engine
