// SPDX-License-Identifier: Apache-2.0
// The integer loops on AVX-512.
#include <immintrin.h>

#include "kernels/integer_loops/loops.h"
#include "kernels/simd/avx512.h"

namespace nibble::inline kernels::avx512 {
namespace {

struct Path {
  using Vectors = Simd;
};

// shift_pseudo of magnitudes.
struct Pseudo {
  explicit Pseudo(int s)
      : count(_mm_cvtsi32_si128(s)),
        h(_mm_cvtsi32_si128(s / 2)),
        odd(_mm_cvtsi32_si128(s % 2)),
        rest(_mm512_set1_epi32(static_cast<int>((1U << s) - 1))),
        low(_mm512_set1_epi32((1 << (s / 2)) - 1)) {}
  __m512i operator()(__m512i m) const {
    const __m512i q = _mm512_srl_epi32(_mm512_and_si512(m, rest), h);
    const __m512i p = _mm512_sll_epi32(_mm512_and_si512(m, low), odd);
    const __m512i t = _mm512_srl_epi32(m, count);
    return _mm512_mask_add_epi32(t, _mm512_cmpgt_epi32_mask(q, p), t, _mm512_set1_epi32(1));
  }
  __m128i count, h, odd;
  __m512i rest, low;
};

// The first `count` of 64 lanes.
std::uint64_t first_lanes(std::size_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

// Saturating packs narrow, and the clamp happens in 16 bits: a saturated number is beyond it too.
std::int64_t shift_pseudo(const std::int32_t* x, std::int8_t* y, std::size_t n, int s) {
  const Pseudo rounding(s);
  const auto quotient = [&](__m512i v) __attribute__((always_inline)) {
    const __m512i q = rounding(_mm512_abs_epi32(v));
    return _mm512_mask_sub_epi32(q, _mm512_movepi32_mask(v), _mm512_setzero_si512(), q);
  };
  const __m512i highest = _mm512_set1_epi16(127);
  const __m512i lowest = _mm512_set1_epi16(-127);
  const __m512i in_order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  std::int64_t clamped = 0;
  const auto narrow = [&](__m512i q0, __m512i q1, __m512i q2, __m512i q3)
      __attribute__((always_inline)) {
    const __m512i a = _mm512_packs_epi32(q0, q1);
    const __m512i b = _mm512_packs_epi32(q2, q3);
    const __m512i c = _mm512_min_epi16(_mm512_max_epi16(a, lowest), highest);
    const __m512i d = _mm512_min_epi16(_mm512_max_epi16(b, lowest), highest);
    const std::uint64_t moved =
        _mm512_cmpneq_epi16_mask(a, c) | std::uint64_t{_mm512_cmpneq_epi16_mask(b, d)} << 32;
    clamped += __builtin_popcountll(moved);
    return _mm512_permutexvar_epi32(in_order, _mm512_packs_epi16(c, d));
  };
  std::size_t i = 0;
  for (; i + 64 <= n; i += 64) {
    const auto part = [&](std::size_t k) __attribute__((always_inline)) {
      return quotient(_mm512_loadu_si512(x + i + k));
    };
    _mm512_storeu_si512(y + i, narrow(part(0), part(16), part(32), part(48)));
  }
  if (i < n) {
    const std::uint64_t lanes = first_lanes(n - i);
    const auto part = [&](int k) __attribute__((always_inline)) {
      return quotient(_mm512_maskz_loadu_epi32(static_cast<__mmask16>(lanes >> k), x + i + k));
    };
    _mm512_mask_storeu_epi8(y + i, lanes, narrow(part(0), part(16), part(32), part(48)));
  }
  return clamped;
}

// g++ 12 makes long chains of permutations of the plain loop. The dwords of each row are moved to
// where unpacking inside of 128-bit lanes leaves the columns in order.
void interleave4(const std::int8_t* const rows[4], std::int8_t* out, std::size_t n,
                 std::uint8_t flip) {
  const std::int8_t* const row[4] = {rows[0], rows[1], rows[2], rows[3]};
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
  const __m512i spread = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const auto columns = [&](auto load, auto store) __attribute__((always_inline)) {
    __m512i v[4];
    for (int q = 0; q < 4; ++q) {
      v[q] = _mm512_permutexvar_epi32(spread, _mm512_xor_si512(load(row[q]), flips));
    }
    const __m512i ab_low = _mm512_unpacklo_epi8(v[0], v[1]);
    const __m512i ab_high = _mm512_unpackhi_epi8(v[0], v[1]);
    const __m512i cd_low = _mm512_unpacklo_epi8(v[2], v[3]);
    const __m512i cd_high = _mm512_unpackhi_epi8(v[2], v[3]);
    store(0, _mm512_unpacklo_epi16(ab_low, cd_low));
    store(16, _mm512_unpackhi_epi16(ab_low, cd_low));
    store(32, _mm512_unpacklo_epi16(ab_high, cd_high));
    store(48, _mm512_unpackhi_epi16(ab_high, cd_high));
  };
  std::size_t j = 0;
  for (; j + 64 <= n; j += 64) {
    columns(
        [&](const std::int8_t* from)
            __attribute__((always_inline)) { return _mm512_loadu_si512(from + j); },
        [&](int k, __m512i v) __attribute__((always_inline)) {
          _mm512_storeu_si512(out + 4 * (j + static_cast<std::size_t>(k)), v);
        });
  }
  if (j < n) {
    const std::uint64_t lanes = first_lanes(n - j);
    columns(
        [&](const std::int8_t* from)
            __attribute__((always_inline)) { return _mm512_maskz_loadu_epi8(lanes, from + j); },
        [&](int k, __m512i v) __attribute__((always_inline)) {
          _mm512_mask_storeu_epi32(out + 4 * (j + static_cast<std::size_t>(k)),
                                   static_cast<__mmask16>(lanes >> k), v);
        });
  }
}

// The table is 128 words: a permutation finds the word of a byte, and its lowest bit which half.
void look_up(const std::int8_t* table, const std::uint8_t* x, std::int8_t* y, std::size_t n) {
  const __m512i words[] = {_mm512_loadu_si512(table), _mm512_loadu_si512(table + 64),
                           _mm512_loadu_si512(table + 128), _mm512_loadu_si512(table + 192)};
  const __m512i low_byte = _mm512_set1_epi16(255);
  const auto entries = [&](__m512i bytes) __attribute__((always_inline)) {  // one a word
    const __m512i place = _mm512_srli_epi16(bytes, 1);
    const __m512i word =
        _mm512_mask_blend_epi16(_mm512_test_epi16_mask(place, _mm512_set1_epi16(64)),
                                _mm512_permutex2var_epi16(words[0], place, words[1]),
                                _mm512_permutex2var_epi16(words[2], place, words[3]));
    const __m512i half = _mm512_slli_epi16(_mm512_and_si512(bytes, _mm512_set1_epi16(1)), 3);
    return _mm512_and_si512(_mm512_srlv_epi16(word, half), low_byte);
  };
  const auto found = [&](__m512i bytes) __attribute__((always_inline)) {
    const __m512i even = entries(_mm512_and_si512(bytes, low_byte));
    const __m512i odd = entries(_mm512_srli_epi16(bytes, 8));
    return _mm512_or_si512(even, _mm512_slli_epi16(odd, 8));
  };
  std::size_t i = 0;
  for (; i + 64 <= n; i += 64) _mm512_storeu_si512(y + i, found(_mm512_loadu_si512(x + i)));
  if (i < n) {
    const std::uint64_t lanes = first_lanes(n - i);
    _mm512_mask_storeu_epi8(y + i, lanes, found(_mm512_maskz_loadu_epi8(lanes, x + i)));
  }
}

constexpr IntegerLoops make_loops() {
  IntegerLoops loops = loops_of<Path>();
  loops.shift_pseudo = shift_pseudo;
  loops.interleave4 = interleave4;
  loops.look_up = look_up;
  return loops;
}

}  // namespace

constinit const IntegerLoops kIntegerLoops = make_loops();

}  // namespace nibble::inline kernels::avx512
