// SPDX-License-Identifier: Apache-2.0
// What all threads of a block found, put together and added to what other blocks found.
#pragma once

#include <cstdint>

#include "cuda/before_ampere.cuh"

namespace nibble::cuda {

__device__ __forceinline__ void atomic_add(std::uint64_t* to, std::uint64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}
__device__ __forceinline__ void atomic_max(std::uint64_t* to, std::uint64_t value) {
  atomicMax(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

// All threads of a block, or the first kThreads.
template <unsigned int kThreads>
__device__ __forceinline__ void meet_threads() {
  if constexpr (kThreads == 0) {
    __syncthreads();
  } else {
    asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory");
  }
}

// The largest and the sums of all threads of a block, or of the first kThreads, at its first one.
struct BlockTotals {
  std::uint64_t largest;
  std::uint64_t sum;
  std::uint64_t second_sum;
};
template <unsigned int kThreads = 0>
__device__ inline BlockTotals block_totals(std::uint64_t largest, std::uint32_t count,
                                           std::uint32_t second_count = 0) {
  __shared__ BlockTotals parts[32];
  const unsigned int lane = threadIdx.x % 32;
  const unsigned int warps = (kThreads == 0 ? blockDim.x : kThreads) / 32;
  for (int reach = 16; reach > 0; reach /= 2) {
    const std::uint64_t other = __shfl_down_sync(0xffffffffu, largest, reach);
    largest = other > largest ? other : largest;
  }
  const std::uint32_t sum = __reduce_add_sync(0xffffffffu, count);
  const std::uint32_t second_sum = __reduce_add_sync(0xffffffffu, second_count);
  meet_threads<kThreads>();  // parts may be in use from an earlier call
  if (lane == 0) parts[threadIdx.x / 32] = {largest, sum, second_sum};
  meet_threads<kThreads>();
  BlockTotals all{0, 0, 0};
  if (threadIdx.x == 0) {
    for (unsigned int i = 0; i < warps; ++i) {
      all.largest = all.largest > parts[i].largest ? all.largest : parts[i].largest;
      all.sum += parts[i].sum;
      all.second_sum += parts[i].second_sum;
    }
  }
  return all;
}

// True at the first thread of the block that ends last, which then sees what all others wrote.
__device__ inline bool is_last_block(std::uint32_t* blocks_done, std::uint32_t blocks) {
  __threadfence();
  if (atomicAdd(blocks_done, 1u) + 1 != blocks) return false;
  __threadfence();
  return true;
}

}  // namespace nibble::cuda
