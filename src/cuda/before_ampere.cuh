// SPDX-License-Identifier: Apache-2.0
// What Turing has no instruction for, under the names that CUDA gives it from Ampere on.
#pragma once

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800

// Joins a number of every lane of `mask`, a whole warp, with those 16, 8, 4, 2 and 1 lanes away.
template <class Number, class Join>
__device__ __forceinline__ Number join_lanes(unsigned int mask, Number own, const Join& join) {
#pragma unroll
  for (int reach = 16; reach > 0; reach /= 2) own = join(own, __shfl_xor_sync(mask, own, reach));
  return own;
}

template <class Number>
__device__ __forceinline__ Number __reduce_add_sync(unsigned int mask, Number own) {
  return join_lanes(mask, own, [](Number a, Number b) { return a + b; });
}

template <class Number>
__device__ __forceinline__ Number __reduce_max_sync(unsigned int mask, Number own) {
  return join_lanes(mask, own, [](Number a, Number b) { return a > b ? a : b; });
}

#endif
