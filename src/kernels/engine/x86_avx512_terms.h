// SPDX-License-Identifier: Apache-2.0
// Sums of two rescaled bytes on AVX-512, 16 at a time; for the files of paths that have it.
#pragma once

#include <immintrin.h>

#include "kernels/engine/x86_avx512_rescale.h"

namespace nibble::inline kernels {

template <class Path>
class Avx512Term {
 public:
  explicit Avx512Term(const ByteTerm& term)
      : from_(term.from),
        zero_(_mm512_set1_epi32(term.zero)),
        multiplier_(_mm512_set1_epi32(term.multiplier)),
        half_(_mm512_set1_epi64(term.shift == 0 ? 0 : std::int64_t{1} << (term.shift - 1))),
        shift_(_mm512_set1_epi64(term.shift)),
        rounds_(term.shift == 0 ? 0 : 0xFF),
        low_(_mm512_set1_epi32(term.low)),
        high_(_mm512_set1_epi32(term.high)) {}

  // Of the bytes from `i` on.
  __m512i operator()(std::int64_t i, __mmask16 there) const {
    const __m512i byte = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(there, from_ + i));
    const __m512i x = _mm512_sub_epi32(byte, zero_);
    const __m512i even = rounded(_mm512_mul_epi32(x, multiplier_));
    const __m512i odd = rounded(_mm512_mul_epi32(_mm512_srli_epi64(x, 32), multiplier_));
    const __m512i both = _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32));
    return _mm512_min_epi32(_mm512_max_epi32(both, low_), high_);
  }

 private:
  // (p + 2^(s-1) - [p < 0]) >> s
  __m512i rounded(__m512i product) const {
    const __m512i below_zero = _mm512_maskz_srai_epi64(rounds_, product, 63);
    return _mm512_srav_epi64(_mm512_add_epi64(_mm512_add_epi64(product, half_), below_zero),
                             shift_);
  }

  const std::uint8_t* from_;
  __m512i zero_;
  __m512i multiplier_;
  __m512i half_;
  __m512i shift_;
  __mmask8 rounds_;  // all lanes, none where nothing is shifted
  __m512i low_;
  __m512i high_;
};

// The same where a shift is at most kMostSplitShift: with m = h·2^s + l the whole part of x·m / 2^s
// is x·h more than that of x·l / 2^s, and both fit 32 bits.
inline constexpr int kMostSplitShift = 21;

template <class Path>
class Avx512SplitTerm {
 public:
  explicit Avx512SplitTerm(const ByteTerm& term)
      : from_(term.from),
        zero_(_mm512_set1_epi32(term.zero)),
        whole_(_mm512_set1_epi32(term.multiplier >> term.shift)),
        rest_(_mm512_set1_epi32(term.multiplier & ((1 << term.shift) - 1))),
        shift_(term.shift),
        low_(_mm512_set1_epi32(term.low)),
        high_(_mm512_set1_epi32(term.high)) {}

  // Of the bytes from `i` on.
  __m512i operator()(std::int64_t i, __mmask16 there) const {
    const __m512i byte = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(there, from_ + i));
    const __m512i x = _mm512_sub_epi32(byte, zero_);
    const __m512i y =
        _mm512_add_epi32(_mm512_mullo_epi32(x, whole_), shift_(_mm512_mullo_epi32(x, rest_)));
    return _mm512_min_epi32(_mm512_max_epi32(y, low_), high_);
  }

 private:
  const std::uint8_t* from_;
  __m512i zero_;
  __m512i whole_;
  __m512i rest_;
  NarrowShift shift_;
  __m512i low_;
  __m512i high_;
};

template <class Term>
void avx512_add_both(const ByteTerm& first, const ByteTerm& second, std::int32_t* to,
                     std::int64_t count) {
  const Term a(first);
  const Term b(second);
  for (std::int64_t i = 0; i < count; i += 16) {
    const __mmask16 there = first_lanes(count - i);
    _mm512_mask_storeu_epi32(to + i, there, _mm512_add_epi32(a(i, there), b(i, there)));
  }
}

template <class Path>
void avx512_add_terms(const ByteTerm& first, const ByteTerm& second, std::int32_t* to,
                      std::int64_t count) {
  if (std::max(first.shift, second.shift) <= kMostSplitShift)
    return avx512_add_both<Avx512SplitTerm<Path>>(first, second, to, count);
  avx512_add_both<Avx512Term<Path>>(first, second, to, count);
}

}  // namespace nibble::inline kernels
