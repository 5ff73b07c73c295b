// SPDX-License-Identifier: Apache-2.0
// From the codes of a word, each at the top of a field of kBits, to the values of their elements.
#pragma once

#include "kernels/quantize/cuda/decode.h"
#include "kernels/quantize/cuda/values.cuh"

namespace nibble::cuda {

template <int kBits>
inline constexpr std::uint32_t kEachField = kBits == 8 ? 0x01010101U : 0x00010001U;
template <int kBits>
inline constexpr std::uint32_t kFieldSigns = kEachField<kBits> << (kBits - 1);

// 2^23 and a field of the word.
template <int kBits>
__device__ __forceinline__ float counted_field(std::uint32_t word, int e) {
  const unsigned bytes = kBits == 8 ? 0x7540U | e : 0x7410U + 0x22U * e;
  return Lane::floats(__byte_perm(word, 0x4B000000U, bytes));
}

// Whether a field is 0.
template <int kBits>
__device__ __forceinline__ std::uint32_t empty_fields(std::uint32_t word) {
  return word - kEachField<kBits> & ~word & kFieldSigns<kBits>;
}

// Codes beyond the numbers are special, and a sign alone where it is no zero.
template <int kFieldBits>
struct FloatDecoder {
  static constexpr int kBits = kFieldBits;
  static constexpr bool kUsesTable = false;
  const FloatDecoding& p;

  __device__ __forceinline__ FloatDecoder(const DecodeJob& job, const float*, int)
      : p(job.decoding.floating) {}

  __device__ __forceinline__ float value(std::uint32_t word, int e) const {
    return decoded(p, word << (32 - kBits - kBits * e));
  }
  __device__ __forceinline__ bool has_special(std::uint32_t word) const {
    const std::uint32_t is_beyond = ((word & ~kFieldSigns<kBits>)+p.beyond) & kFieldSigns<kBits>;
    return (is_beyond | (empty_fields<kBits>(word ^ kFieldSigns<kBits>) & p.lone_signs)) != 0;
  }
};

template <int kFieldBits>
struct GridDecoder {
  static constexpr int kBits = kFieldBits;
  static constexpr bool kUsesTable = false;
  const GridDecoding& p;
  float moved;  // the zero point

  __device__ __forceinline__ GridDecoder(const DecodeJob& job, const float*, int zero)
      : p(job.decoding.grid), moved(-static_cast<float>(zero) * p.step) {}

  __device__ __forceinline__ float value(std::uint32_t word, int e) const {
    return decoded(p, counted_field<kBits>(word ^ p.flipped, e), moved);
  }
  __device__ __forceinline__ bool has_special(std::uint32_t) const { return false; }
};

// What is no real is special.
template <int kFieldBits>
struct PositDecoder {
  static constexpr int kBits = kFieldBits;
  static constexpr bool kUsesTable = false;
  const PositDecoding& p;

  __device__ __forceinline__ PositDecoder(const DecodeJob& job, const float*, int)
      : p(job.decoding.posit) {}

  __device__ __forceinline__ float value(std::uint32_t word, int e) const {
    constexpr float kZero = 0x1p23F + static_cast<float>(1 << (kBits - 1));
    return decoded(p, counted_field<kBits>(word ^ kFieldSigns<kBits>, e) - kZero);
  }
  // Whether a field has its sign bit alone.
  __device__ __forceinline__ bool has_special(std::uint32_t word) const {
    return empty_fields<kBits>(word ^ kFieldSigns<kBits>) != 0;
  }
};

struct TableDecoder {
  static constexpr int kBits = 8;
  static constexpr bool kUsesTable = true;
  const float* values;
  int top_shift;
  std::uint32_t last;
  bool has_nan;

  __device__ __forceinline__ TableDecoder(const DecodeJob& job, const float* table, int)
      : values(table),
        top_shift(job.decoding.top_shift),
        last((1U << job.codes.bits) - 1),
        has_nan(job.has_nan && job.kind != ScaleKind::none) {}

  __device__ __forceinline__ float value(std::uint32_t word, int e) const {
    return values[word >> (8 * e + top_shift) & last];
  }
  // A scale would change the bits of NaN.
  __device__ __forceinline__ bool has_special(std::uint32_t) const { return has_nan; }
};

}  // namespace nibble::cuda
