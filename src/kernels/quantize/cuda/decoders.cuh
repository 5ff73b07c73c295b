// SPDX-License-Identifier: Apache-2.0
// From four codes, each at the top of a byte, to the values of their elements.
#pragma once

#include "kernels/quantize/cuda/decode.h"
#include "kernels/quantize/cuda/values.cuh"

namespace nibble::cuda {

// Sign, exponent and mantissa moved to fp32's places; one multiplication moves the bias, and makes
// fp32's subnormals of the element's. Codes beyond the numbers are in the job's table.
struct FloatDecoder {
  static constexpr bool kUsesTable = false;
  const FloatDecoding& p;

  __device__ __forceinline__ FloatDecoder(const DecodeJob& job, const float*, int)
      : p(job.floating) {}

  __device__ __forceinline__ float value(std::uint32_t word, int e) const {
    const auto top = static_cast<std::int32_t>(word << (24 - 8 * e));
    return Lane::floats(static_cast<std::uint32_t>(top >> p.shift) & p.kept) * p.unit;
  }
  __device__ __forceinline__ bool has_special(std::uint32_t word) const {
    return ((word & 0x7F7F7F7FU) + p.beyond & 0x80808080U) != 0;
  }
};

// The byte as the last of 2^23 and more.
struct GridDecoder {
  static constexpr bool kUsesTable = false;
  const GridDecoding& p;
  float moved;  // the zero point

  __device__ __forceinline__ GridDecoder(const DecodeJob& job, const float*, int zero)
      : p(job.grid), moved(-static_cast<float>(zero) * p.step) {}

  __device__ __forceinline__ float value(std::uint32_t word, int e) const {
    const float counted = Lane::floats(__byte_perm(word ^ p.flipped, 0x4B000000U, 0x7540 | e));
    return __fmaf_rn(counted - p.offset, p.unit, moved);
  }
  __device__ __forceinline__ bool has_special(std::uint32_t) const { return false; }
};

// counting.cuh's lines the other way: from the code's distance to the nearer of 0 and 2^(n-1).
// Not a real has the job's value.
struct PositDecoder {
  static constexpr bool kUsesTable = false;
  const PositDecoding& p;

  __device__ __forceinline__ PositDecoder(const DecodeJob& job, const float*, int) : p(job.posit) {}

  __device__ __forceinline__ float value(std::uint32_t word, int e) const {
    const float counted =
        Lane::floats(__byte_perm(word ^ 0x80808080U, 0x4B000000U, 0x7540 | e)) - 0x1.0001p23F;
    const float beyond_one = fabsf(counted) - 64;
    const std::uint32_t line = Lane::bits(64 - fabsf(beyond_one));
    const std::uint32_t length = p.last - line * p.steps;
    const auto inverted =
        static_cast<std::uint32_t>(static_cast<std::int32_t>(Lane::bits(beyond_one)) >> 31);
    const std::uint32_t magnitude = (length ^ inverted) - inverted + 0x3F800000U;
    const float value = Lane::floats(magnitude | Lane::bits(counted) & 0x80000000U);
    return counted == 0 ? 0.0F : value;
  }
  // Whether a byte is 0x80.
  __device__ __forceinline__ bool has_special(std::uint32_t word) const {
    const std::uint32_t flipped = word ^ 0x80808080U;
    return (flipped - 0x01010101U & ~flipped & 0x80808080U) != 0;
  }
};

struct TableDecoder {
  static constexpr bool kUsesTable = true;
  const float* values;
  int top_shift;
  std::uint32_t last;
  bool has_nan;

  __device__ __forceinline__ TableDecoder(const DecodeJob& job, const float* table, int)
      : values(table),
        top_shift(job.top_shift),
        last((1U << job.codes.bits) - 1),
        has_nan(job.has_nan && job.kind != ScaleKind::none) {}

  __device__ __forceinline__ float value(std::uint32_t word, int e) const {
    return values[word >> (8 * e + top_shift) & last];
  }
  // A scale would change the bits of NaN.
  __device__ __forceinline__ bool has_special(std::uint32_t) const { return has_nan; }
};

}  // namespace nibble::cuda
