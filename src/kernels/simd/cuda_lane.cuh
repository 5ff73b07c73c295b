// SPDX-License-Identifier: Apache-2.0
// The vector vocabulary of one thread of a GPU: the portable one, with what the machine has in one
// instruction.
#pragma once

#include "kernels/simd/portable.h"

namespace nibble::cuda {

struct Lane : portable::Simd {
#ifdef __CUDA_ARCH__
  // Counts of 32 and more shift everything out.
  __device__ __forceinline__ static U shl(U a, U n) {
    U result;
    asm("shl.b32 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(n));
    return result;
  }
  __device__ __forceinline__ static U shr(U a, U n) {
    U result;
    asm("shr.u32 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(n));
    return result;
  }
  __device__ __forceinline__ static U sar(U a, U n) {
    U result;
    asm("shr.s32 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(n));
    return result;
  }
  // The conversion saturates, and NaN gives 0.
  __device__ __forceinline__ static U fraction32(F x) {
    return __float2uint_rz(x * 0x1p32F);
  }
  __device__ __forceinline__ static W multiply_low(W a, W b) {
    W result;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(result) : "r"(static_cast<U>(a)), "r"(static_cast<U>(b)));
    return result;
  }
#endif
};

// The same where -0 and +0 need no order among each other: one instruction each from Ampere on.
// Either is NaN: so is the result.
struct BoundedLane : Lane {
#ifdef __CUDA_ARCH__
  __device__ __forceinline__ static F min(F a, F b) {
#if __CUDA_ARCH__ >= 800
    F result;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    return isnan(a) || isnan(b) ? __int_as_float(0x7fffffff) : fminf(a, b);
#endif
  }
  __device__ __forceinline__ static F max(F a, F b) {
#if __CUDA_ARCH__ >= 800
    F result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    return isnan(a) || isnan(b) ? __int_as_float(0x7fffffff) : fmaxf(a, b);
#endif
  }
#endif
};

}  // namespace nibble::cuda
