// SPDX-License-Identifier: Apache-2.0
// The draws of a thread's vectors: as many of one Philox counter as it has.
#pragma once

#include "core/philox_draws.h"
#include "kernels/quantize/cuda_values.cuh"
#include "kernels/quantize/draws.h"

namespace nibble::cuda {

struct DrawSource {
  RandomKey key;
  int random_bits;
};

__device__ __forceinline__ void philox_words(const RandomKey& key, std::int64_t counter,
                                             std::uint32_t (&words)[4]) {
  const auto first = static_cast<std::uint64_t>(counter);
  philox_blocks<Lane>(key, first, static_cast<std::uint32_t>(first >> 32), words);
}

__device__ __forceinline__ std::uint32_t draw_one(const DrawSource& source, std::int64_t element) {
  const auto i = static_cast<std::uint64_t>(element);
  return source.random_bits > 16
             ? philox::draw32(source.key, i) >> (32 - source.random_bits)
             : std::uint32_t{philox::draw16(source.key, i)} >> (16 - source.random_bits);
}

// Two vectors, whose first elements are the same multiple of 4 lanes into multiples of 8. Of 16
// bits a counter serves two neighbouring threads: the even one computes the counter of the first
// vector, the odd one that of the second, and they exchange halves. All threads of a warp take
// part.
__device__ __forceinline__ void draw_two_vectors(const DrawSource& source, std::int64_t first,
                                                 std::int64_t second,
                                                 std::uint32_t (&draws)[2][kVector]) {
  if (source.random_bits > 16) {
    const auto shift = static_cast<std::uint32_t>(32 - source.random_bits);
    philox_words(source.key, first >> 2, draws[0]);
    philox_words(source.key, second >> 2, draws[1]);
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      draws[0][e] >>= shift;
      draws[1][e] >>= shift;
    }
    return;
  }
  const bool is_odd = (threadIdx.x & 1U) != 0;
  std::uint32_t words[4];
  philox_words(source.key, (is_odd ? second : first) >> 3, words);
  std::uint32_t mine[2], others[2];
#pragma unroll
  for (int w = 0; w < 2; ++w) {
    mine[w] = is_odd ? words[2 + w] : words[w];
    others[w] = __shfl_xor_sync(0xFFFFFFFFU, is_odd ? words[w] : words[2 + w], 1);
  }
#pragma unroll
  for (int w = 0; w < 2; ++w) {
    const std::uint32_t of_first = is_odd ? others[w] : mine[w];
    const std::uint32_t of_second = is_odd ? mine[w] : others[w];
    draws[0][2 * w] = of_first & 0xFFFFU;
    draws[0][2 * w + 1] = of_first >> 16;
    draws[1][2 * w] = of_second & 0xFFFFU;
    draws[1][2 * w + 1] = of_second >> 16;
  }
  if (source.random_bits == 16) return;
#pragma unroll
  for (int e = 0; e < kVector; ++e) {
    draws[0][e] >>= 16 - source.random_bits;
    draws[1][e] >>= 16 - source.random_bits;
  }
}

}  // namespace nibble::cuda
