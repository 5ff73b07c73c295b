// SPDX-License-Identifier: Apache-2.0
// The scales of a thread's four vectors, each part of a block of 16 to 128 elements: lane l finds
// that of vector l mod 4 for the lanes that hold the same block.
#pragma once

#include "kernels/quantize/cuda/scale.cuh"

namespace nibble::cuda {

inline constexpr std::uint32_t kAllLanes = 0xFFFFFFFFU;
inline constexpr int kScaled = 4;  // vectors of a thread, and threads that share the work

// What fl32(x / s) is found by: where 1/s is not good for a guess it is NaN.
struct Divisor {
  float scale = 1;
  float inverse = 1;
};

__device__ __forceinline__ Divisor divisor_of(float scale) {
  const bool is_moderate = scale >= 0x1p-40F && scale <= 0x1p40F;
  float guess;  // within 2^-23
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(guess) : "f"(scale));
  const float inverse = __fmaf_rn(guess, __fmaf_rn(-scale, guess, 1.0F), guess);
  return {scale, is_moderate ? inverse : Lane::floats(0x7FC00000U)};
}

// fl32(x / s) by two steps of correction, or something below 2^-20 where that is; NaN where
// anything overflows or s is not moderate.
__device__ __forceinline__ void divide_coarsely(const float (&x)[kVector], const Divisor& by,
                                                float (&y)[kVector]) {
#pragma unroll
  for (int e = 0; e < kVector; ++e) {
    const float guess = x[e] * by.inverse;
    const float better = __fmaf_rn(__fmaf_rn(-guess, by.scale, x[e]), by.inverse, guess);
    y[e] = __fmaf_rn(__fmaf_rn(-better, by.scale, x[e]), by.inverse, better);
  }
}

// A two-level block too small for its scale has zeros only, but NaN passes.
__device__ __forceinline__ void divide_exactly(const float (&x)[kVector], float s,
                                               float (&y)[kVector]) {
  if (s == 0) {
#pragma unroll
    for (int e = 0; e < kVector; ++e) y[e] = x[e] == x[e] ? 0.0F : x[e];
    return;
  }
  const float4 v = divided_piecewise(make_float4(x[0], x[1], x[2], x[3]), s);
  y[0] = v.x, y[1] = v.y, y[2] = v.z, y[3] = v.w;
}

// From the greatest of a thread's vectors to that of the block of vector (lane mod 4).
template <class Number, class Greater>
__device__ __forceinline__ Number greatest_of_block(const Number (&of_vectors)[kScaled], int block,
                                                    const Greater& greater) {
  const auto of_pair = [&](bool takes_second, Number a, Number b, int distance) {
    const Number kept = takes_second ? b : a;
    const Number given = takes_second ? a : b;
    return greater(kept, __shfl_xor_sync(kAllLanes, given, distance));
  };
  const bool is_odd = (threadIdx.x & 1U) != 0;
  const bool is_high = (threadIdx.x & 2U) != 0;
  Number own = of_pair(is_high, of_pair(is_odd, of_vectors[0], of_vectors[1], 1),
                       of_pair(is_odd, of_vectors[2], of_vectors[3], 1), 2);
  for (int distance = kScaled; distance * kVector < block; distance *= 2) {
    own = greater(own, __shfl_xor_sync(kAllLanes, own, distance));
  }
  return own;
}

// Of the block that vector (lane mod 4) belongs to: infinities count as the largest finite value,
// NaN as nothing.
__device__ __forceinline__ float block_largest(const float (&x)[kScaled][kVector], int block) {
  float largest[kScaled];
#pragma unroll
  for (int v = 0; v < kScaled; ++v) {
    largest[v] =
        fmaxf(fmaxf(fabsf(x[v][0]), fabsf(x[v][1])), fmaxf(fabsf(x[v][2]), fabsf(x[v][3])));
  }
  const float own = greatest_of_block(largest, block, [](float a, float b) { return fmaxf(a, b); });
  return fminf(fmaxf(own, 0.0F), Lane::floats(0x7F7FFFFFU));
}

// What lane v of the four has found for vector v.
__device__ __forceinline__ float of_vector(float own, int v) {
  return __shfl_sync(kAllLanes, own, v, kScaled);
}

// One lane stores what it found; vectors are `stride` elements apart.
__device__ __forceinline__ void store_scale(const ScaleJob& job, std::int64_t first, int stride,
                                            std::int64_t count, float stored) {
  const int lanes = (1 << job.block_bits) / kVector;
  const auto lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  const int own = lane & (kScaled - 1);
  const std::int64_t start = first - lane * kVector + own * stride;
  if (lane == own && start < count) job.stored_scales[start >> job.block_bits] = stored;
}

// 2^-e of the shared exponent.
__device__ __forceinline__ float block_inverse(const ScaleJob& job, std::int64_t first, int stride,
                                               std::int64_t count,
                                               const float (&x)[kScaled][kVector]) {
  const float largest = block_largest(x, 1 << job.block_bits);
  const std::uint32_t exponent = shared_exponents<Lane>(job.blocks, Lane::bits(largest));
  store_scale(job, first, stride, count, power_of_two<Lane>(exponent));
  return power_of_two<Lane>(0U - exponent);
}

// What elements are divided by; tensor_scale is the outer one of two levels.
__device__ __forceinline__ Divisor block_divisor(const ScaleJob& job, float tensor_scale,
                                                 std::int64_t first, int stride, std::int64_t count,
                                                 const float (&x)[kScaled][kVector]) {
  const float largest = block_largest(x, 1 << job.block_bits);
  if (job.blocks.kind != ScaleKind::two_level) {
    const float scale = divided_scale<Lane>(job.blocks, largest);
    store_scale(job, first, stride, count, scale);
    return divisor_of(scale);
  }
  BlockPlan blocks = job.blocks;
  blocks.tensor_scale = tensor_scale;
  RoundPlan e4m3 = job.e4m3;
  make_plain(e4m3.floating);
  const FloatOp<Lane, RoundingKind::nearest_even> to_e4m3(e4m3, nullptr);
  const auto two = two_level_scale<Lane>(blocks, to_e4m3, largest);
  store_scale(job, first, stride, count, two.stored);
  return divisor_of(two.scale);
}

}  // namespace nibble::cuda
