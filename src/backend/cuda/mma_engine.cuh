// SPDX-License-Identifier: Apache-2.0
// Products by mma.sync on tensor cores, of bytes or of halves of bytes.
//
// Products has kChunks, 2 or 4: chunks of depth that one add() takes, 16 rows by 8 columns; four
// are halves of bytes. Where halves lie in a register does not matter, as long as rows and columns
// have them alike: those of a second 32 bytes of depth stand beside those of the first.
#pragma once

#include "backend/cuda/fragments.cuh"
#include "backend/cuda/product_finish.cuh"
#include "backend/cuda/product_tiles.cuh"

namespace nibble::cuda {

// Four 8 by 16-byte matrices; each lane names one line of one of them.
__device__ __forceinline__ void load_matrices(std::uint32_t (&to)[4], const std::int8_t* line) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(line)));
}

// Of 16 · kBlocksOfRows rows and 32 columns.
template <int kBlocksOfRows>
struct Fragments {
  std::uint32_t row[kBlocksOfRows][4];
  std::uint32_t column[2][4];

  // Lower halves of bytes stay; those of others become the upper ones.
  __device__ __forceinline__ void add_halves(const Fragments& others) {
    constexpr std::uint32_t kLower = 0x0F0F0F0Fu;
    const auto add = [](std::uint32_t& to, std::uint32_t other) {
      to = (to & kLower) | (other << 4 & ~kLower);
    };
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int m = 0; m < kBlocksOfRows; ++m) add(row[m][i], others.row[m][i]);
#pragma unroll
      for (int n = 0; n < 2; ++n) add(column[n][i], others.column[n][i]);
    }
  }
};

// 128 rows by 32 · kWarps columns, of which a warp has so many blocks of 16 rows by 32 columns.
// Tiles of 32 columns serve products of which wider ones would be mostly empty.
template <class Products, int kBlocksOfRows, int kWarps, int kStages_>
struct MmaEngine {
  static constexpr std::uint32_t kWarpRows = 16 * kBlocksOfRows;
  static constexpr std::uint32_t kRows = 128;
  static constexpr std::uint32_t kColumns = 32 * kWarps;
  static constexpr int kThreads = kColumns * kRows / kWarpRows;
  static constexpr int kBlocks = kColumns == kNarrowColumns ? 2 : 1;
  static constexpr int kStages = kStages_;
  static constexpr int kAhead = kStages - 1;
  static constexpr std::uint32_t kResultBytes = kThreads / 32 * WarpSlab::kWords * 4;

  static __device__ __forceinline__ void publish() {}

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int m = 0; m < kBlocksOfRows; ++m) {
#pragma unroll
      for (int n = 0; n < 4; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[m][n][i] = 0;
      }
    }
  }
  __device__ __forceinline__ void issue(const std::int8_t* rows, const std::int8_t* columns) {
    a = rows;
    b = columns;
  }
  __device__ __forceinline__ void settle() {
#pragma unroll
    for (std::uint32_t chunk = 0; chunk < kDepthChunks; chunk += Products::kChunks) {
      auto all = fragments_at(chunk);
      if constexpr (Products::kChunks == 4) all.add_halves(fragments_at(chunk + 2));
#pragma unroll
      for (int m = 0; m < kBlocksOfRows; ++m) {
#pragma unroll
        for (int n = 0; n < 4; ++n)
          Products::add(sums[m][n], all.row[m], all.column[n / 2][n % 2 * 2],
                        all.column[n / 2][n % 2 * 2 + 1]);
      }
    }
  }
  __device__ __forceinline__ void finish() {}

  template <class Body>
  __device__ __forceinline__ void for_each_sum(const Body& body) const {
#pragma unroll
    for (int m = 0; m < kBlocksOfRows; ++m) {
#pragma unroll
      for (int n = 0; n < 4; ++n)
        for_each_of_fragment(sums[m][n], first_row() + m * 16, first_column() + n * 8, body);
    }
  }
  template <class Body>
  __device__ __forceinline__ void for_each_chunk_of_sums(std::int32_t* memory,
                                                         const Body& body) const {
#pragma unroll
    for (int m = 0; m < kBlocksOfRows; ++m)
      WarpSlab::pass(memory, sums[m], first_row() + m * 16, first_column(), body);
  }
  template <class Ending>
  __device__ __forceinline__ void for_each_quad_of_sums(std::int32_t* memory,
                                                        const Ending& ending) const {
#pragma unroll
    for (int m = 0; m < kBlocksOfRows; ++m)
      WarpSlab::pass_quads(memory, sums[m], first_row() + m * 16, first_column(), ending);
  }

  static __device__ __forceinline__ std::uint32_t first_row() {
    return threadIdx.x / kColumns * kWarpRows;
  }
  static __device__ __forceinline__ std::uint32_t first_column() {
    return threadIdx.x / 32 % kWarps * 32;
  }

  // Rows and columns of 32 bytes of depth.
  __device__ __forceinline__ Fragments<kBlocksOfRows> fragments_at(std::uint32_t chunk) const {
    const std::uint32_t lane = threadIdx.x % 32;
    Fragments<kBlocksOfRows> all;
#pragma unroll
    for (int m = 0; m < kBlocksOfRows; ++m)
      load_matrices(all.row[m], a + swizzled(first_row() + m * 16 + lane % 16, chunk + lane / 16));
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      const std::uint32_t line = first_column() + n * 16 + lane / 16 * 8 + lane % 8;
      load_matrices(all.column[n], b + swizzled(line, chunk + lane / 8 % 2));
    }
    return all;
  }

  std::int32_t sums[kBlocksOfRows][4][4];
  const std::int8_t* a;
  const std::int8_t* b;
};

}  // namespace nibble::cuda
