// SPDX-License-Identifier: Apache-2.0
// From four values to their nearest elements' codes, one a byte, without the elements themselves.
#pragma once

#include "kernels/quantize/cuda/counting.cuh"
#include "kernels/quantize/cuda/encode.h"
#include "kernels/quantize/cuda/values.cuh"

namespace nibble::cuda {

// The least, or the greatest bytes of four words.
__device__ __forceinline__ std::uint32_t low_bytes(const std::uint32_t (&w)[kVector]) {
  return __byte_perm(__byte_perm(w[0], w[1], 0x0040), __byte_perm(w[2], w[3], 0x0040), 0x5410);
}
__device__ __forceinline__ std::uint32_t high_bytes(const std::uint32_t (&w)[kVector]) {
  return __byte_perm(__byte_perm(w[0], w[1], 0x0073), __byte_perm(w[2], w[3], 0x0073), 0x5410);
}

// Whether all are finite; seldom not although they are.
__device__ __forceinline__ bool are_finite(const float (&y)[kVector]) {
  return fabsf((y[0] + y[1]) + (y[2] + y[3])) < Lane::floats(0x7F800000U);
}

// A coder gives the codes of four values; `is_sure` is false where one of them may be another's:
// where a value has none, and, kGuesses, where the exact value may be on the other side of a tie.
struct FloatCoder {
  static constexpr bool kTakesGuesses = true;
  const FloatCoding& p;

  __device__ __forceinline__ FloatCoder(const EncodeJob& job, const float*, int)
      : p(job.floating) {}

  __device__ __forceinline__ static bool is_number(float x) { return x == x; }

  template <bool kGuesses>
  __device__ __forceinline__ std::uint32_t codes(const float (&y)[kVector], bool& is_sure) const {
    std::uint32_t counts[kVector];
    std::uint32_t patterns[kVector];
    is_sure = kGuesses || are_finite(y);
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      const float a = BoundedLane::min(fabsf(y[e]), p.limit);
      const std::uint32_t binade = Lane::max_unsigned(Lane::bits(a) & 0x7F800000U, p.least);
      const float counted = __fmaf_rn(Lane::floats(binade), p.factor, a);
      counts[e] = (binade >> p.shift) + Lane::bits(counted);
      patterns[e] = Lane::bits(y[e]);
      if constexpr (kGuesses) {
        const float rest = a - __fmaf_rn(-Lane::floats(binade), p.factor, counted);
        is_sure = is_sure && fabsf(rest) <= Lane::floats(binade) * p.sure;
      }
    }
    return low_bytes(counts) & p.magnitudes | high_bytes(patterns) >> p.sign_shift & p.signs;
  }
};

struct GridCoder {
  static constexpr bool kTakesGuesses = true;
  const GridCoding& p;
  float lowest, highest, counting;
  float sure;  // how far from a step no error of a guess matters

  __device__ __forceinline__ GridCoder(const EncodeJob& job, const float*, int zero)
      : p(job.grid),
        lowest(p.lowest - static_cast<float>(zero)),
        highest(p.highest - static_cast<float>(zero)),
        counting(kCounting + static_cast<float>(zero)),
        sure(0.5F - 0x1p-20F * fmaxf(-lowest, highest)) {}

  __device__ __forceinline__ static bool is_number(float x) { return x == x; }

  template <bool kGuesses>
  __device__ __forceinline__ std::uint32_t codes(const float (&y)[kVector], bool& is_sure) const {
    std::uint32_t counts[kVector];
    is_sure = kGuesses || are_finite(y);
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      const float steps =
          BoundedLane::min(highest, BoundedLane::max(lowest, y[e] * p.steps_per_one));
      const float whole = (steps + kCounting) - kCounting;
      counts[e] = Lane::bits(whole + counting);
      if constexpr (kGuesses) is_sure = is_sure && fabsf(steps - whole) <= sure;
    }
    return low_bytes(counts) & p.codes;
  }
};

struct PositCoder {
  static constexpr bool kTakesGuesses = false;
  static constexpr bool kIsCoarse = false;
  const PositCoding& p;

  __device__ __forceinline__ PositCoder(const EncodeJob& job, const float*, int) : p(job.posit) {}

  __device__ __forceinline__ static bool is_number(float x) {
    return fabsf(x) < Lane::floats(0x7F800000U);
  }

  template <bool kGuesses>
  __device__ __forceinline__ std::uint32_t codes(const float (&y)[kVector], bool& is_sure) const {
    std::uint32_t counts[kVector];
    std::uint32_t doubled[kVector];
    is_sure = are_finite(y);
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      const std::uint32_t pattern = Lane::bits(y[e]);
      doubled[e] = doubled_log(pattern);
      // Never to zero, never beyond the largest.
      const std::uint32_t length = Lane::min_unsigned(length_of(doubled[e]), p.last);
      const std::uint32_t line = p.one - (length >> p.shift | length & p.lost);
      const std::uint32_t count = posit_count(pattern, doubled[e], line);
      counts[e] = y[e] == 0 ? 0 : count;
    }
    return low_bytes(counts) & p.codes ^ ~high_bytes(doubled) >> p.top_shift & p.tops;
  }
};

// How many thresholds are at most the value, by halving.
struct TableCoder {
  static constexpr bool kTakesGuesses = false;
  static constexpr bool kIsCoarse = true;  // below 2^-20 all values have the same code
  const float* thresholds;

  __device__ __forceinline__ TableCoder(const EncodeJob&, const float* shared, int)
      : thresholds(shared) {}

  __device__ __forceinline__ static bool is_number(float x) { return x == x; }

  template <bool kGuesses>
  __device__ __forceinline__ std::uint32_t codes(const float (&y)[kVector], bool& is_sure) const {
    std::uint32_t counts[kVector];
    is_sure = are_finite(y);
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      std::uint32_t count = 0;
#pragma unroll
      for (std::uint32_t step = kSmallTable / 2; step != 0; step /= 2) {
        if (thresholds[count + step - 1] <= y[e]) count += step;
      }
      counts[e] = count;
    }
    return low_bytes(counts);
  }
};

}  // namespace nibble::cuda
