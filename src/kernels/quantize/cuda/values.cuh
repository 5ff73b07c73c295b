// SPDX-License-Identifier: Apache-2.0
// Four neighbouring elements of an array between memory and fp32 registers.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/simd/cuda_lane.cuh"
#include "nibble/core/dtype.h"

namespace nibble::cuda {

inline constexpr int kVector = 4;

// Bits of an fp32 NaN as arithmetic on a CPU passes it on; a GPU's own gives another one.
__device__ __forceinline__ float quiet(float nan) {
  return Lane::floats(Lane::bits(nan) | 0x400000U);
}

// As core/half.h has them, by the machine's conversions; NaN by hand.
__device__ __forceinline__ float widened_half(std::uint16_t half) {
  const float value = __half2float(__ushort_as_half(half));
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t nan = sign | 0x7F800000U | (half & 0x3FFU | 0x200U) << 13;
  return (half & 0x7FFFU) > 0x7C00U ? Lane::floats(nan) : value;
}
__device__ __forceinline__ std::uint32_t narrowed_half(float value) {
  const std::uint32_t bits = Lane::bits(value);
  const std::uint32_t nan = bits >> 16 & 0x8000U | 0x7E00U | bits >> 13 & 0x3FFU;
  return value == value ? __half_as_ushort(__float2half_rn(value)) : nan;
}
__device__ __forceinline__ std::uint32_t narrowed_bfloat(float value) {
  const std::uint32_t bits = Lane::bits(value);
  const std::uint32_t rounded = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
  return value == value ? rounded : bits >> 16 | 0x40U;
}

__device__ __forceinline__ float widened(DType type, std::uint16_t bits) {
  return type == DType::f16 ? widened_half(bits) : Lane::floats(std::uint32_t{bits} << 16);
}
__device__ __forceinline__ std::uint32_t narrowed(DType type, float value) {
  return type == DType::f16 ? narrowed_half(value) : narrowed_bfloat(value);
}

__device__ __forceinline__ float load_value(const void* data, DType type, std::int64_t i) {
  return type == DType::f32 ? static_cast<const float*>(data)[i]
                            : widened(type, static_cast<const std::uint16_t*>(data)[i]);
}
__device__ __forceinline__ void store_value(void* data, DType type, std::int64_t i, float value) {
  if (type == DType::f32) {
    static_cast<float*>(data)[i] = value;
  } else {
    static_cast<std::uint16_t*>(data)[i] = static_cast<std::uint16_t>(narrowed(type, value));
  }
}

struct ConstValues {
  const void* data;
  DType type;     // f32, f16, bf16
  bool is_whole;  // vectors are aligned, and none of these reaches beyond the end
};

struct Values {
  void* data;
  DType type;
  bool is_whole;
};

// Where a vector is not whole or not aligned: rare, and kept out of the kernels' way.
static __device__ __noinline__ float4 load_piecewise(const void* data, DType type,
                                                     std::int64_t first, std::int64_t count) {
  float x[kVector];
#pragma unroll
  for (int e = 0; e < kVector; ++e) {
    x[e] = first + e < count ? load_value(data, type, first + e) : 0;
  }
  return make_float4(x[0], x[1], x[2], x[3]);
}
static __device__ __noinline__ void store_piecewise(void* data, DType type, std::int64_t first,
                                                    std::int64_t count, float4 v) {
  const float x[kVector] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int e = 0; e < kVector; ++e) {
    if (first + e < count) store_value(data, type, first + e, x[e]);
  }
}

// Not assignments, which the compiler may take apart.
__device__ __forceinline__ void store_16_bytes(void* to, uint4 v) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(__cvta_generic_to_global(to)), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}
__device__ __forceinline__ void store_8_bytes(void* to, uint2 v) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};"
               :
               : "l"(__cvta_generic_to_global(to)), "r"(v.x), "r"(v.y)
               : "memory");
}

// Elements first to first + 3; zeros from `count` on.
__device__ __forceinline__ void load_vector(const ConstValues& from, std::int64_t first,
                                            std::int64_t count, float (&x)[kVector]) {
  float4 v;
  if (!from.is_whole) {
    v = load_piecewise(from.data, from.type, first, count);
  } else if (from.type == DType::f32) {
    v = *reinterpret_cast<const float4*>(static_cast<const float*>(from.data) + first);
  } else {
    const uint2 halves =
        *reinterpret_cast<const uint2*>(static_cast<const std::uint16_t*>(from.data) + first);
    v.x = widened(from.type, static_cast<std::uint16_t>(halves.x));
    v.y = widened(from.type, static_cast<std::uint16_t>(halves.x >> 16));
    v.z = widened(from.type, static_cast<std::uint16_t>(halves.y));
    v.w = widened(from.type, static_cast<std::uint16_t>(halves.y >> 16));
  }
  x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
}

__device__ __forceinline__ void store_vector(const Values& to, std::int64_t first,
                                             std::int64_t count, const float (&x)[kVector]) {
  if (!to.is_whole) {
    store_piecewise(to.data, to.type, first, count, make_float4(x[0], x[1], x[2], x[3]));
  } else if (to.type == DType::f32) {
    store_16_bytes(
        static_cast<float*>(to.data) + first,
        make_uint4(Lane::bits(x[0]), Lane::bits(x[1]), Lane::bits(x[2]), Lane::bits(x[3])));
  } else {
    store_8_bytes(static_cast<std::uint16_t*>(to.data) + first,
                  make_uint2(narrowed(to.type, x[0]) | narrowed(to.type, x[1]) << 16,
                             narrowed(to.type, x[2]) | narrowed(to.type, x[3]) << 16));
  }
}

}  // namespace nibble::cuda
