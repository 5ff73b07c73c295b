// SPDX-License-Identifier: Apache-2.0
// From four codes, each at the top of a byte, to the values of their elements.
#pragma once

#include "kernels/quantize/cuda_pack.h"
#include "kernels/quantize/cuda_values.cuh"

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
