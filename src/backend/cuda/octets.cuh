// SPDX-License-Identifier: Apache-2.0
// Threads that keep eight channels and go from row to row, so that what belongs to a channel stays
// in registers.
#pragma once

#include "backend/cuda/normalization.h"

namespace nibble::cuda {

inline constexpr int kOctet = 8;
inline constexpr unsigned int kOctetThreads = 256;
inline constexpr unsigned int kOctetWarps = kOctetThreads / 32;

// Neighbouring threads have neighbouring octets, of `octets` in a plane of blocks, then rows.
struct OctetPlace {
  std::uint32_t channel;  // the first of eight
  std::uint32_t row;      // the first of this thread
  std::uint32_t step;     // to its next one
  bool is_inside;

  __device__ __forceinline__ explicit OctetPlace(const NormRows& of)
      : channel((blockIdx.y * of.octets() + (threadIdx.x & (of.octets() - 1))) * kOctet),
        row((blockIdx.x * kOctetThreads + threadIdx.x) >> of.octet_bits),
        step((gridDim.x * kOctetThreads) >> of.octet_bits),
        is_inside(channel < of.rows.chunks.divisor * kChunk) {}
};

// The exponent of normalized values.
__device__ __forceinline__ std::int32_t value_exponent(const NormRows& of, const NormPlace& norm) {
  std::int32_t most = norm.planes[0].value_exponent;
  for (std::uint32_t i = 1; i < of.planes(); ++i) most = max(most, norm.planes[i].value_exponent);
  return most;
}

// Eight numbers as they lie in memory.
struct Sums8 {
  using Loaded = uint4;
  static __device__ __forceinline__ uint4 load(const std::int8_t* data, std::size_t number) {
    return *reinterpret_cast<const uint4*>(data + number * 2);
  }
  static __device__ std::int32_t at(const std::int8_t* data, std::size_t number) {
    return reinterpret_cast<const std::int16_t*>(data)[number];
  }
  static __device__ __forceinline__ void widen(const uint4& from, std::int32_t (&to)[kOctet]) {
    const std::uint32_t words[4] = {from.x, from.y, from.z, from.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      to[2 * i] = static_cast<std::int16_t>(words[i]);
      to[2 * i + 1] = static_cast<std::int32_t>(words[i]) >> 16;
    }
  }
};
struct Bytes8 {
  using Loaded = uint2;
  static __device__ __forceinline__ uint2 load(const std::int8_t* data, std::size_t number) {
    return *reinterpret_cast<const uint2*>(data + number);
  }
  static __device__ std::int32_t at(const std::int8_t* data, std::size_t number) {
    return data[number];
  }
  static __device__ __forceinline__ void widen(const uint2& from, std::int32_t (&to)[kOctet]) {
    const std::uint32_t words[2] = {from.x, from.y};
#pragma unroll
    for (int i = 0; i < kOctet; ++i) to[i] = static_cast<std::int8_t>(words[i / 4] >> i % 4 * 8);
  }
};

// As many blocks as a multiprocessor has room for, fewer where threads would have no
// rows_of_thread.
inline Grid octet_grid(const DeviceQueue& queue, const NormRows& of, std::uint32_t blocks,
                       std::uint32_t rows_of_thread) {
  const std::uint32_t planes = of.planes();
  const std::uint32_t at_once = kOctetThreads / of.octets() * rows_of_thread;
  const std::uint32_t wanted = (of.rows.rows + at_once - 1) / at_once;
  const std::uint32_t most = (queue.multiprocessors() * blocks + planes - 1) / planes;
  return {.blocks = wanted < 1 ? 1 : (wanted < most ? wanted : most),
          .threads = kOctetThreads,
          .shared_bytes = 0,
          .planes = planes};
}

}  // namespace nibble::cuda
