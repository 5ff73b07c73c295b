// SPDX-License-Identifier: Apache-2.0
// What 16 numbers that are rounded together share: the draws they are rounded by, and what follows.
#pragma once

#include "backend/cuda/device_params.h"
#include "core/philox_draws.h"

namespace nibble::cuda {

// Ten rounds of multiplications are better called than repeated.
__device__ __noinline__ inline std::uint32_t draw_of(const RandomKey& key, std::uint64_t element) {
  return philox::draw32(key, element);
}

__device__ __noinline__ inline PhiloxBlock draws_of(const RandomKey& key, std::uint64_t group) {
  return philox::block_of(key, group);
}

// Of 16 elements that follow one another: a counter serves four where they begin with one.
struct ChunkDraws {
  std::uint32_t draw[kChunk] = {};

  __device__ __forceinline__ ChunkDraws(const RoundingSite& site, std::uint64_t element) {
    if (site.rounding != ShiftRounding::stochastic) return;
    const RandomKey key{site.step->seed, site.stream, site.step->step};
    if (element % 4 == 0) {
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const PhiloxBlock four = draws_of(key, element / 4 + w);
#pragma unroll
        for (int i = 0; i < 4; ++i) draw[w * 4 + i] = four[i];
      }
    } else {
#pragma unroll
      for (int i = 0; i < kChunk; ++i) draw[i] = draw_of(key, element + i);
    }
  }
};

// What follows the rounding of 16 numbers.
struct Gate {
  uint4 passes;    // bytes of ones where errors pass, as values did
  bool rectifies;  // values

  static __device__ __forceinline__ Gate open(bool rectifies) {
    constexpr std::uint32_t kAll = ~0u;
    return {make_uint4(kAll, kAll, kAll, kAll), rectifies};
  }
  static __device__ __forceinline__ Gate where_positive(const uint4& values) {
    return {make_uint4(__vcmpgts4(values.x, 0u), __vcmpgts4(values.y, 0u), __vcmpgts4(values.z, 0u),
                       __vcmpgts4(values.w, 0u)),
            false};
  }

  __device__ __forceinline__ uint4 passed(const uint4& chunk) const {
    return make_uint4(chunk.x & passes.x, chunk.y & passes.y, chunk.z & passes.z,
                      chunk.w & passes.w);
  }
  __device__ __forceinline__ uint4 operator()(const uint4& chunk) const {
    if (!rectifies) return passed(chunk);
    return make_uint4(__vmaxs4(chunk.x, 0u), __vmaxs4(chunk.y, 0u), __vmaxs4(chunk.z, 0u),
                      __vmaxs4(chunk.w, 0u));
  }
};

}  // namespace nibble::cuda
