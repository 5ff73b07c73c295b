// SPDX-License-Identifier: Apache-2.0
// Sums as tensor cores leave them: a warp has 16 rows; of every 8 columns thread t has columns
// 2·(t mod 4) and the next in rows ⌊t / 4⌋ and ⌊t / 4⌋ + 8.
#pragma once

#include "backend/cuda/device_params.h"

namespace nibble::cuda {

// Calls body(row, column, sum) of one block of 16 rows by 8 columns.
template <class Body>
__device__ __forceinline__ void for_each_of_fragment(const std::int32_t (&sums)[4],
                                                     std::uint32_t first_row,
                                                     std::uint32_t first_column, const Body& body) {
  const std::uint32_t row = first_row + threadIdx.x % 32 / 4;
  const std::uint32_t column = first_column + threadIdx.x % 4 * 2;
  body(row, column, sums[0]);
  body(row, column + 1, sums[1]);
  body(row + 8, column, sums[2]);
  body(row + 8, column + 1, sums[3]);
}

// 16 rows by 32 columns on their way through a warp's own memory: each lane gets 16 of a row, or
// four columns of four rows.
struct WarpSlab {
  static constexpr std::uint32_t kPitch = 40;  // words: no bank conflicts for pairs
  static constexpr std::uint32_t kWords = 16 * kPitch;

  template <class Body>
  static __device__ __forceinline__ void pass(std::int32_t* memory,
                                              const std::int32_t (&fragments)[4][4],
                                              std::uint32_t first_row, std::uint32_t first_column,
                                              const Body& body) {
    const std::int32_t* own = put(memory, fragments);
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t row = lane / 2;
    const std::uint32_t column = lane % 2 * kChunk;
    body(first_row + row, first_column + column, own + row * kPitch + column);
  }

  // What `ending.columns(column)` says of four columns serves all four rows:
  // ending.end(columns, row, column, sums).
  template <class Ending>
  static __device__ __forceinline__ void pass_quads(std::int32_t* memory,
                                                    const std::int32_t (&fragments)[4][4],
                                                    std::uint32_t first_row,
                                                    std::uint32_t first_column,
                                                    const Ending& ending) {
    const std::int32_t* own = put(memory, fragments);
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t column = lane % 8 * 4;
    const auto columns = ending.columns(first_column + column);
#pragma unroll
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t row = lane / 8 + 4 * i;
      ending.end(columns, first_row + row, first_column + column,
                 *reinterpret_cast<const int4*>(own + row * kPitch + column));
    }
  }

 private:
  static __device__ __forceinline__ const std::int32_t* put(std::int32_t* memory,
                                                            const std::int32_t (&fragments)[4][4]) {
    std::int32_t* own = memory + threadIdx.x / 32 * kWords;
    const std::uint32_t lane = threadIdx.x % 32;
    __syncwarp();
#pragma unroll
    for (int f = 0; f < 4; ++f) {
      std::int32_t* pair = own + lane / 4 * kPitch + f * 8 + lane % 4 * 2;
      *reinterpret_cast<int2*>(pair) = make_int2(fragments[f][0], fragments[f][1]);
      *reinterpret_cast<int2*>(pair + 8 * kPitch) = make_int2(fragments[f][2], fragments[f][3]);
    }
    __syncwarp();
    return own;
  }
};

}  // namespace nibble::cuda
