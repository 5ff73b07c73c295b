// SPDX-License-Identifier: Apache-2.0
// Values of a network as kernels see them.
#pragma once

#include <cstdint>

#include "backend/cuda/device_params.h"

namespace nibble::cuda {

// Pictures of a batch one after the other as (row, column, channel), channels filled up to a
// multiple of 16 with anything. A number is byte + base, or a word of 32 bits. Behind the pixels of
// a picture there may be one more, whose numbers are 0: what a convolution meets outside.
struct DeviceValue {
  std::int8_t* data;
  std::uint32_t chunks;  // of a pixel
  std::uint32_t channels;
  std::uint32_t height;
  std::uint32_t width;
  std::uint32_t borders;  // pixels behind those of a picture: 0 or 1
  std::uint32_t has_words;
  std::int32_t base;
  std::uint32_t unused;
};

// All chunks of a batch of pictures, one a thread.
struct ChunkOrder {
  std::uint32_t count;
  Divisor chunks;
  Divisor width;
  Divisor height;

  static ChunkOrder of(const DeviceValue& value, std::uint32_t images) {
    return {images * value.height * value.width * value.chunks, Divisor::of(value.chunks),
            Divisor::of(value.width), Divisor::of(value.height)};
  }
};

}  // namespace nibble::cuda
