// SPDX-License-Identifier: Apache-2.0
// Reads and writes values, a number or 16 channels at a time.
#pragma once

#include "backend/cuda/sum_finish.cuh"
#include "engine/cuda/device_value.h"

namespace nibble::cuda {

// 16 numbers, one a channel.
struct ChunkNumbers {
  std::int32_t at[kChunk];
};

// 16 channels of a pixel of an image.
struct ValueChunk {
  std::uint32_t image;
  std::int32_t y;
  std::int32_t x;
  std::uint32_t chunk;
  std::uint32_t row;  // the pixel, counted over all images without borders
};

// body(chunk) for every chunk, over all threads of the grid.
template <class Body>
__device__ __forceinline__ void for_each_value_chunk(const ChunkOrder& order, const Body& body) {
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < order.count;
       i += gridDim.x * blockDim.x) {
    const std::uint32_t row = order.chunks.quotient(i);
    const std::uint32_t line = order.width.quotient(row);
    const std::uint32_t image = order.height.quotient(line);
    body(ValueChunk{image, static_cast<std::int32_t>(order.height.remainder(line, image)),
                    static_cast<std::int32_t>(order.width.remainder(row, line)),
                    order.chunks.remainder(i, row), row});
  }
}

__device__ __forceinline__ bool has_pixel(const DeviceValue& value, std::int32_t y,
                                          std::int32_t x) {
  return y >= 0 && y < static_cast<std::int32_t>(value.height) && x >= 0 &&
         x < static_cast<std::int32_t>(value.width);
}

// The number of channel 0 of a pixel, counted in numbers.
__device__ __forceinline__ std::size_t place_of(const DeviceValue& value, std::uint32_t image,
                                                std::int32_t y, std::int32_t x) {
  const std::size_t pixels = std::size_t{value.height} * value.width + value.borders;
  return (image * pixels + std::size_t{static_cast<std::uint32_t>(y)} * value.width +
          static_cast<std::uint32_t>(x)) *
         value.chunks * kChunk;
}

__device__ __forceinline__ std::int32_t number_at(const DeviceValue& value, std::size_t at) {
  if (value.has_words != 0) return reinterpret_cast<const std::int32_t*>(value.data)[at];
  return value.data[at] + value.base;
}
__device__ __forceinline__ void set_number(const DeviceValue& value, std::size_t at,
                                           std::int32_t number) {
  if (value.has_words != 0) {
    reinterpret_cast<std::int32_t*>(value.data)[at] = number;
  } else {
    value.data[at] = static_cast<std::int8_t>(number - value.base);
  }
}

__device__ __forceinline__ ChunkNumbers read_chunk(const DeviceValue& value, std::size_t at) {
  ChunkNumbers numbers;
  if (value.has_words != 0) {
    const auto* words = reinterpret_cast<const int4*>(value.data) + at / 4;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      numbers.at[4 * i] = words[i].x;
      numbers.at[4 * i + 1] = words[i].y;
      numbers.at[4 * i + 2] = words[i].z;
      numbers.at[4 * i + 3] = words[i].w;
    }
    return numbers;
  }
  const ChunkBytes bytes{load_chunk(value.data, at)};
#pragma unroll
  for (int i = 0; i < kChunk; ++i) numbers.at[i] = bytes.bytes[i] + value.base;
  return numbers;
}
__device__ __forceinline__ void write_chunk(const DeviceValue& value, std::size_t at,
                                            const ChunkNumbers& numbers) {
  Quad quads[4];
#pragma unroll
  for (int i = 0; i < kChunk; ++i) quads[i / 4].at[i % 4] = numbers.at[i];
  store_quads(value.data, at, quads, value.base, value.has_words != 0);
}

}  // namespace nibble::cuda
