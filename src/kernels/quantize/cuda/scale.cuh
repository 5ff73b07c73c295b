// SPDX-License-Identifier: Apache-2.0
// The scale of each element of a thread's vector.
#pragma once

#include "kernels/quantize/block_scales.h"
#include "kernels/quantize/cuda/round.h"
#include "kernels/quantize/cuda/values.cuh"

namespace nibble::cuda {

// What most floats are, for the compiler to know.
__device__ __forceinline__ void make_plain(FloatPlan& p, bool has_minus_zero = true) {
  p.smallest = 0;
  p.parity_flip = 0;
  p.parity_mask = 1;
  p.has_mantissa = true;
  p.has_plain_sign = has_minus_zero;
  p.is_signed = true;
  p.has_short_stochastic = true;
}

struct ElementScale {
  float scale = 1;
  float inverse = 1;  // of a power of two
  int zero = 0;
};

__device__ __forceinline__ ElementScale tensor_scale_of(const ScaleJob& job) {
  ElementScale s;
  s.scale = job.scales == nullptr ? job.scale : job.scales[0];
  s.zero = job.zeros == nullptr ? job.zero : job.zeros[0];
  s.inverse = 1 / s.scale;
  return s;
}

__device__ __forceinline__ ElementScale group_scale_of(const ScaleJob& job, std::int64_t element) {
  const std::int64_t group =
      job.is_short
          ? static_cast<std::int64_t>(job.grouping.group_of(static_cast<std::uint32_t>(element)))
          : job.grouping.group_of(element);
  ElementScale s;
  s.scale = job.scales[group];
  s.zero = job.zeros == nullptr ? 0 : job.zeros[group];
  s.inverse = 1 / s.scale;
  return s;
}

__device__ __forceinline__ ElementScale scale_at(const ScaleJob& job, std::int64_t element) {
  if (job.source == ScaleSource::none) return {};
  return job.source == ScaleSource::tensor ? tensor_scale_of(job) : group_scale_of(job, element);
}

// Over the neighbouring threads that hold a block.
__device__ __forceinline__ std::uint32_t largest_of_block(std::uint32_t largest, int block) {
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    if (distance * kVector >= block) break;
    largest = Lane::max_unsigned(largest, __shfl_xor_sync(0xFFFFFFFFU, largest, distance));
  }
  return largest;
}

// The outer scale of two levels: on the device, or given. Of one level: 1.
__device__ __forceinline__ float two_level_tensor_scale_of(const ScaleJob& job) {
  return job.tensor_scale == nullptr ? job.blocks.tensor_scale : *job.tensor_scale;
}

// Neighbouring threads hold a block; all threads of a warp take part.
template <ScaleUse kUse>
__device__ __forceinline__ ElementScale block_scale_of(const ScaleJob& job, bool is_stored,
                                                       std::int64_t first, std::int64_t count,
                                                       const float (&x)[kVector]) {
  const int block = 1 << job.block_bits;
  std::uint32_t largest = 0;
#pragma unroll
  for (int e = 0; e < kVector; ++e) {
    largest = Lane::max_unsigned(largest, Lane::bits(x[e]) & 0x7FFFFFFFU);
  }
  largest = largest_of_block(largest, block);
  // Rare: infinities count as the largest finite value, NaN as nothing.
  if (__any_sync(0xFFFFFFFFU, largest >= 0x7F800000U)) {
    largest = 0;
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      largest =
          Lane::max_unsigned(largest, counted_magnitude<Lane>(Lane::bits(x[e]) & 0x7FFFFFFFU));
    }
    largest = largest_of_block(largest, block);
  }
  ElementScale s;
  float stored;
  if constexpr (kUse == ScaleUse::exact) {
    const std::uint32_t exponent = shared_exponents<Lane>(job.blocks, largest);
    stored = s.scale = power_of_two<Lane>(exponent);
    s.inverse = power_of_two<Lane>(0U - exponent);
  } else if (job.blocks.kind == ScaleKind::two_level) {
    BlockPlan blocks = job.blocks;
    blocks.tensor_scale = two_level_tensor_scale_of(job);
    RoundPlan e4m3 = job.e4m3;
    make_plain(e4m3.floating);
    const FloatOp<Lane, RoundingKind::nearest_even> to_e4m3(e4m3, nullptr);
    const auto two = two_level_scale<Lane>(blocks, to_e4m3, Lane::floats(largest));
    stored = two.stored;
    s.scale = two.scale;
  } else {
    stored = s.scale = divided_scale<Lane>(job.blocks, Lane::floats(largest));
  }
  if (is_stored && (first & (block - 1)) == 0 && first < count) {
    job.stored_scales[first >> job.block_bits] = stored;
  }
  return s;
}

// fl32(x / s) of four elements: two steps of correction from x·fl32(1/s) end at the nearest
// quotient while nothing comes near the ends of fp32's range.
static __device__ __noinline__ float4 divided_piecewise(float4 x, float s) {
  return make_float4(x.x / s, x.y / s, x.z / s, x.w / s);
}
__device__ __forceinline__ void divide_vector(const float (&x)[kVector], float s,
                                              float (&y)[kVector]) {
  constexpr float kLeast = 0x1p-60F;
  constexpr float kMost = 0x1p60F;
  bool is_inside = s >= 0x1p-40F && s <= 0x1p40F;
#pragma unroll
  for (int e = 0; e < kVector; ++e) {
    is_inside = is_inside && fabsf(x[e]) >= kLeast && fabsf(x[e]) <= kMost;
  }
  if (!is_inside) {
    const float4 v = divided_piecewise(make_float4(x[0], x[1], x[2], x[3]), s);
    y[0] = v.x, y[1] = v.y, y[2] = v.z, y[3] = v.w;
    return;
  }
  const float r = __frcp_rn(s);
#pragma unroll
  for (int e = 0; e < kVector; ++e) {
    const float guess = x[e] * r;
    const float better = __fmaf_rn(__fmaf_rn(-guess, s, x[e]), r, guess);
    y[e] = __fmaf_rn(__fmaf_rn(-better, s, x[e]), r, better);
  }
}

}  // namespace nibble::cuda
