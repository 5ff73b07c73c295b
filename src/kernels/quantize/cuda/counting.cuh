// SPDX-License-Identifier: Apache-2.0
// Codes counted in the last bits of a sum.
#pragma once

#include "kernels/simd/cuda_lane.cuh"

namespace nibble::cuda {

inline constexpr float kCounting = 0x1.8p23F;  // adding it rounds to an integer in the last bits

// A posit's regime, as a run of bits, is to its code what an exponent is to a number: with
// L = log2|x| by straight lines between the regimes' powers, the code c of 0 < x <= 1 is
// 2^(n-2)·2^L by straight lines as well, which is what fp32 bits say, and that of 1/x is 2^(n-1) -
// c.

// L from fp32 bits, 2^(24 + es) times and signed.
__device__ __forceinline__ std::uint32_t doubled_log(std::uint32_t pattern) {
  return 2 * pattern - 0x7F000000U;
}
__device__ __forceinline__ std::uint32_t length_of(std::uint32_t doubled) {
  return static_cast<std::uint32_t>(abs(static_cast<std::int32_t>(doubled)));
}

// From the bits of 2^(n-2)·2^-|L|: the code in the last n bits, but the first of them is the other
// one where L is not negative.
__device__ __forceinline__ std::uint32_t posit_count(std::uint32_t pattern, std::uint32_t doubled,
                                                     std::uint32_t line) {
  const std::uint32_t turned = line ^ (pattern ^ ~doubled) & 0x80000000U;
  return Lane::bits(Lane::floats(turned) + kCounting);
}

}  // namespace nibble::cuda
