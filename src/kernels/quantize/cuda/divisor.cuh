// SPDX-License-Identifier: Apache-2.0
// Exact division by a number that many are divided by.
#pragma once

#include "kernels/simd/cuda_lane.cuh"

namespace nibble::cuda {

// Scales that leave a quotient and its remainders room on both sides.
__device__ __forceinline__ bool is_ordinary(float scale) {
  return scale >= 0x1p-40F && scale <= 0x1p40F;
}

// high + low is 1/divisor to twice fp32's precision: a quotient from it is next to the exact one,
// and a step of correction by `high`, the nearest reciprocal, ends at the nearest quotient
// (Markstein). For divisors and quotients between 2^-60 and 2^60 where |x| is at least 2^-100: the
// remainder must not underflow.
struct ExactDivisor {
  float divisor;
  float high;
  float low;

  ExactDivisor() = default;
  __device__ __forceinline__ explicit ExactDivisor(float d) : divisor(d) {
    float guess;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(guess) : "f"(d));
    high = __fmaf_rn(guess, __fmaf_rn(-d, guess, 1.0F), guess);
    low = __fmaf_rn(-d, high, 1.0F) * high;
  }

  __device__ __forceinline__ float quotient(float x) const {
    const float near = __fmaf_rn(x, high, x * low);
    return __fmaf_rn(__fmaf_rn(-near, divisor, x), high, near);
  }
};

// yes where a = b, without a branch.
__device__ __forceinline__ float where_equal(float a, float b, float yes, float no) {
  float result;
  asm("{ .reg .pred p; setp.eq.f32 p, %1, %2; selp.f32 %0, %3, %4, p; }"
      : "=f"(result)
      : "f"(a), "f"(b), "f"(yes), "f"(no));
  return result;
}

}  // namespace nibble::cuda
