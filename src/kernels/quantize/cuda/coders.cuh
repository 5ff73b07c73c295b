// SPDX-License-Identifier: Apache-2.0
// From four values to their nearest elements' codes, one a byte or a half of a word, without the
// elements themselves.
#pragma once

#include "kernels/quantize/cuda/codes.cuh"
#include "kernels/quantize/cuda/counting.h"
#include "kernels/quantize/cuda/encode.h"
#include "kernels/quantize/cuda/values.cuh"

namespace nibble::cuda {

// Of four numbers the least, or the greatest kBits, those of word w.
template <int kBits>
__device__ __forceinline__ std::uint32_t low_fields(const std::uint32_t (&n)[kVector], int w) {
  if constexpr (kBits == 16) return __byte_perm(n[2 * w], n[2 * w + 1], 0x5410);
  return __byte_perm(__byte_perm(n[0], n[1], 0x0040), __byte_perm(n[2], n[3], 0x0040), 0x5410);
}
template <int kBits>
__device__ __forceinline__ std::uint32_t high_fields(const std::uint32_t (&n)[kVector], int w) {
  if constexpr (kBits == 16) return __byte_perm(n[2 * w], n[2 * w + 1], 0x7632);
  return __byte_perm(__byte_perm(n[0], n[1], 0x0073), __byte_perm(n[2], n[3], 0x0073), 0x5410);
}

// Whether all are finite; seldom not although they are.
__device__ __forceinline__ bool are_finite(const float (&y)[kVector]) {
  return fabsf((y[0] + y[1]) + (y[2] + y[3])) < Lane::floats(0x7F800000U);
}

// What a block of threads shares for a coder that needs nothing.
struct Nothing {};

// A coder gives the codes of four values; `is_sure` is false where one of them may be another's:
// where a value has none, and, kGuesses, where the exact value may be on the other side of a tie.
// Steps of wide codes are too fine for guesses.
template <int kFieldBits>
struct FloatCoder {
  static constexpr int kBits = kFieldBits;
  static constexpr bool kTakesGuesses = kBits == 8;
  static constexpr bool kIsCoarse = false;
  static constexpr bool kShares = false;
  using Shared = Nothing;
  const FloatCoding& p;

  __device__ __forceinline__ FloatCoder(const EncodeJob& job, Nothing, int) : p(job.floating) {}

  __device__ __forceinline__ static bool is_number(float x) { return x == x; }

  template <bool kGuesses>
  __device__ __forceinline__ FieldWords<kBits> codes(const float (&y)[kVector],
                                                     bool& is_sure) const {
    std::uint32_t counts[kVector];
    std::uint32_t patterns[kVector];
    is_sure = kGuesses || are_finite(y);
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      const CountedFloat c = counted(p, y[e]);
      counts[e] = c.count;
      patterns[e] = Lane::bits(y[e]);
      if constexpr (kGuesses) {
        const float rest = c.inside - __fmaf_rn(-c.binade, p.factor, c.sum);
        is_sure = is_sure && fabsf(rest) <= c.binade * p.sure;
      }
    }
    FieldWords<kBits> result;
#pragma unroll
    for (int w = 0; w < result.kWords; ++w) {
      result.words[w] =
          signed_codes(p, low_fields<kBits>(counts, w), high_fields<kBits>(patterns, w));
    }
    return result;
  }
};

struct UpperBitsCoder {
  static constexpr int kBits = 16;  // a sign, eight bits of exponent, and a mantissa
  static constexpr bool kTakesGuesses = false;
  static constexpr bool kIsCoarse = false;
  static constexpr bool kShares = false;
  using Shared = Nothing;
  const UpperBitsCoding& p;

  __device__ __forceinline__ UpperBitsCoder(const EncodeJob& job, Nothing, int)
      : p(job.upper_bits) {}

  __device__ __forceinline__ static bool is_number(float x) { return x == x; }

  template <bool kGuesses>
  __device__ __forceinline__ FieldWords<kBits> codes(const float (&y)[kVector],
                                                     bool& is_sure) const {
    std::uint32_t codes[kVector];
    is_sure = are_finite(y);
#pragma unroll
    for (int e = 0; e < kVector; ++e) codes[e] = upper_bits(p, Lane::bits(y[e]));
    return {low_fields<kBits>(codes, 0), low_fields<kBits>(codes, 1)};
  }
};

template <int kFieldBits>
struct GridCoder {
  static constexpr int kBits = kFieldBits;
  static constexpr bool kTakesGuesses = kBits == 8;
  static constexpr bool kIsCoarse = false;
  static constexpr bool kShares = false;
  using Shared = Nothing;
  const GridCoding& p;
  float lowest, highest, counting;
  float sure;  // how far from a step no error of a guess matters

  __device__ __forceinline__ GridCoder(const EncodeJob& job, Nothing, int zero)
      : p(job.grid),
        lowest(p.lowest - static_cast<float>(zero)),
        highest(p.highest - static_cast<float>(zero)),
        counting(kCounting + static_cast<float>(zero)),
        sure(0.5F - 0x1p-20F * fmaxf(-lowest, highest)) {}

  __device__ __forceinline__ static bool is_number(float x) { return x == x; }

  template <bool kGuesses>
  __device__ __forceinline__ FieldWords<kBits> codes(const float (&y)[kVector],
                                                     bool& is_sure) const {
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
    FieldWords<kBits> result;
#pragma unroll
    for (int w = 0; w < result.kWords; ++w) {
      result.words[w] = low_fields<kBits>(counts, w) & p.codes;
    }
    return result;
  }
};

template <int kFieldBits>
struct PositCoder {
  static constexpr int kBits = kFieldBits;
  static constexpr bool kTakesGuesses = false;
  static constexpr bool kIsCoarse = false;
  static constexpr bool kShares = false;
  using Shared = Nothing;
  const PositCoding& p;

  __device__ __forceinline__ PositCoder(const EncodeJob& job, Nothing, int) : p(job.posit) {}

  __device__ __forceinline__ static bool is_number(float x) {
    return fabsf(x) < Lane::floats(0x7F800000U);
  }

  template <bool kGuesses>
  __device__ __forceinline__ FieldWords<kBits> codes(const float (&y)[kVector],
                                                     bool& is_sure) const {
    std::uint32_t counts[kVector];
    std::uint32_t doubled[kVector];
    is_sure = are_finite(y);
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      doubled[e] = doubled_log(Lane::bits(y[e]));
      counts[e] = y[e] == 0 ? 0 : counted(p, Lane::bits(y[e]), doubled[e]);
    }
    FieldWords<kBits> result;
#pragma unroll
    for (int w = 0; w < result.kWords; ++w) {
      result.words[w] = low_fields<kBits>(counts, w) & p.codes ^
                        ~high_fields<kBits>(doubled, w) >> p.top_shift & p.tops;
    }
    return result;
  }
};

// Codes of codebooks: how many thresholds are at most the value. `Cells` counts them.
template <class Cells>
struct TableCoder {
  static constexpr int kBits = 8;
  static constexpr bool kTakesGuesses = Cells::kTakesGuesses;
  static constexpr bool kIsCoarse = true;  // below 2^-20 all values have the same code
  static constexpr bool kShares = true;
  using Shared = Cells;
  const Cells& cells;
  const EvenCells& even;

  __device__ __forceinline__ TableCoder(const EncodeJob& job, const Cells& shared, int)
      : cells(shared), even(job.table.cells) {}

  __device__ __forceinline__ static bool is_number(float x) { return x == x; }

  template <bool kGuesses>
  __device__ __forceinline__ FieldWords<kBits> codes(const float (&y)[kVector],
                                                     bool& is_sure) const {
    std::uint32_t counts[kVector];
    is_sure = are_finite(y);
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      bool is_near = false;
      counts[e] = cells.count(even, y[e], is_near);
      if constexpr (kGuesses) is_sure = is_sure && !is_near;
    }
    return {low_fields<kBits>(counts, 0)};
  }
};

// By one look. A threshold that a guess is near is the one of its slot.
struct SharedSlots {
  static constexpr bool kTakesGuesses = true;
  float thresholds[kSlots];
  std::uint32_t before[kSlots];

  __device__ __forceinline__ void fill(const TableCoding& table) {
    if (threadIdx.x >= kSlots) return;
    thresholds[threadIdx.x] = table.cells.thresholds[threadIdx.x];
    before[threadIdx.x] = table.cells.before[threadIdx.x];
  }
  __device__ __forceinline__ std::uint32_t count(const EvenCells& even, float y,
                                                 bool& is_near) const {
    const std::uint32_t slot = slot_bytes(even.factor, even.addend, y);
    const float threshold = in_slot(thresholds, slot);
    is_near = fabsf(y - threshold) <= even.unsure;
    return in_slot(before, slot) + (threshold <= y ? 1U : 0U);
  }
};
using EvenTableCoder = TableCoder<SharedSlots>;

// By halving.
struct SharedThresholds {
  static constexpr bool kTakesGuesses = false;
  float thresholds[kSmallTable];

  __device__ __forceinline__ void fill(const TableCoding& table) {
    if (threadIdx.x < kSmallTable) thresholds[threadIdx.x] = table.thresholds[threadIdx.x];
  }
  __device__ __forceinline__ std::uint32_t count(const EvenCells&, float y, bool&) const {
    std::uint32_t count = 0;
#pragma unroll
    for (std::uint32_t step = kSmallTable / 2; step != 0; step /= 2) {
      if (thresholds[count + step - 1] <= y) count += step;
    }
    return count;
  }
};
using SearchingTableCoder = TableCoder<SharedThresholds>;

}  // namespace nibble::cuda
