// SPDX-License-Identifier: Apache-2.0
// Threads over the chunks of a tensor: 16 channels of one row each.
#pragma once

#include "backend/cuda/device_params.h"
#include "backend/cuda/device_queue.h"

namespace nibble::cuda {

struct ChunkPlace {
  std::uint32_t row;
  std::uint32_t channel;  // the first
};

// body(place) for every chunk, over all threads of the grid.
template <class Body>
__device__ __forceinline__ void for_each_chunk(const Rows& rows, const Body& body) {
  const std::uint32_t count = rows.rows * rows.chunks.divisor;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
       i += gridDim.x * blockDim.x) {
    const std::uint32_t row = rows.chunks.quotient(i);
    body(ChunkPlace{row, rows.chunks.remainder(i, row) * kChunk});
  }
}

__device__ __forceinline__ std::size_t offset_of(std::uint32_t pitch, const ChunkPlace& at) {
  return std::size_t{at.row} * pitch + at.channel;
}
__device__ __forceinline__ std::uint32_t row_bytes(const Rows& rows) {
  return rows.chunks.divisor * kChunk;
}
__device__ __forceinline__ std::size_t place_in(const Rows& rows, const ChunkPlace& at) {
  return offset_of(row_bytes(rows), at);
}
__device__ __forceinline__ uint4 load_chunk(const void* data, std::size_t offset) {
  return *reinterpret_cast<const uint4*>(static_cast<const char*>(data) + offset);
}
__device__ __forceinline__ void store_chunk(void* data, std::size_t offset, const uint4& chunk) {
  *reinterpret_cast<uint4*>(static_cast<char*>(data) + offset) = chunk;
}

// 16 signed bytes.
union ChunkBytes {
  uint4 words;
  std::uint32_t word[4];
  std::int8_t bytes[kChunk];
};

inline constexpr std::uint32_t kEachByte = 0x01010101u;  // times a byte: four of it

// By one thread of a grid.
__device__ __forceinline__ void set_exponent(const Rows& to, int exponent) {
  if (blockIdx.x == 0 && threadIdx.x == 0 && to.exponent != nullptr) *to.exponent = exponent;
}

// Two numbers of 16 bits side by side.
__device__ __forceinline__ std::uint32_t pair_of(std::int16_t low, std::int16_t high) {
  return __byte_perm(static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high), 0x5410);
}

// Byte i of word k becomes byte k of word i.
__device__ __forceinline__ void turn_words(std::uint32_t (&words)[4]) {
  const std::uint32_t even = __byte_perm(words[0], words[1], 0x5140);
  const std::uint32_t odd = __byte_perm(words[0], words[1], 0x7362);
  const std::uint32_t even2 = __byte_perm(words[2], words[3], 0x5140);
  const std::uint32_t odd2 = __byte_perm(words[2], words[3], 0x7362);
  words[0] = __byte_perm(even, even2, 0x5410);
  words[1] = __byte_perm(even, even2, 0x7632);
  words[2] = __byte_perm(odd, odd2, 0x5410);
  words[3] = __byte_perm(odd, odd2, 0x7632);
}

inline Grid grid_of(const DeviceQueue& queue, std::uint64_t threads) {
  constexpr unsigned int kThreads = 256;
  constexpr std::uint64_t kBlocks = 8;  // of a multiprocessor
  const std::uint64_t wanted = (threads + kThreads - 1) / kThreads;
  const std::uint64_t most = std::uint64_t{queue.multiprocessors()} * kBlocks;
  return {.blocks = static_cast<unsigned int>(wanted < 1 ? 1 : (wanted < most ? wanted : most)),
          .threads = kThreads};
}
inline Grid grid_of(const DeviceQueue& queue, const Rows& rows) {
  return grid_of(queue, std::uint64_t{rows.rows} * rows.chunks.divisor);
}

}  // namespace nibble::cuda
