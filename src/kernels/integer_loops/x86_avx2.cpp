// SPDX-License-Identifier: Apache-2.0
// The integer loops on AVX2.
#include <immintrin.h>

#include "kernels/integer_loops/loops.h"
#include "kernels/simd/avx2.h"

namespace nibble::inline kernels::avx2 {
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
        rest(_mm256_set1_epi32(static_cast<int>((1U << s) - 1))),
        low(_mm256_set1_epi32((1 << (s / 2)) - 1)) {}
  __m256i operator()(__m256i m) const {
    const __m256i q = _mm256_srl_epi32(_mm256_and_si256(m, rest), h);
    const __m256i p = _mm256_sll_epi32(_mm256_and_si256(m, low), odd);
    return _mm256_sub_epi32(_mm256_srl_epi32(m, count), _mm256_cmpgt_epi32(q, p));
  }
  __m128i count, h, odd;
  __m256i rest, low;
};

// The sum of sixteen numbers of 16 bits with sign.
std::int64_t sum_of(__m256i x) {
  alignas(32) std::int32_t pairs[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(pairs), _mm256_madd_epi16(x, _mm256_set1_epi16(1)));
  std::int64_t sum = 0;
  for (const std::int32_t pair : pairs) sum += pair;
  return sum;
}

// Saturating packs narrow, and the clamp happens in 16 bits: a saturated number is beyond it too.
std::int64_t shift_pseudo(const std::int32_t* x, std::int8_t* y, std::size_t n, int s) {
  const Pseudo rounding(s);
  const auto quotient = [&](const std::int32_t* from) __attribute__((always_inline)) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm256_sign_epi32(rounding(_mm256_abs_epi32(v)), v);
  };
  const __m256i highest = _mm256_set1_epi16(127);
  const __m256i lowest = _mm256_set1_epi16(-127);
  const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  constexpr std::size_t kStep = 32;
  constexpr std::size_t kChunk = kStep << 13;  // a counter of 16 bits moves by 2 a step
  const std::size_t whole = n / kStep * kStep;
  std::int64_t unclamped = 0;
  for (std::size_t begin = 0; begin < whole; begin += kChunk) {
    const std::size_t end = whole - begin < kChunk ? whole : begin + kChunk;
    __m256i kept = _mm256_setzero_si256();  // minus how many were not clamped
    for (std::size_t i = begin; i < end; i += kStep) {
      const __m256i a = _mm256_packs_epi32(quotient(x + i), quotient(x + i + 8));
      const __m256i b = _mm256_packs_epi32(quotient(x + i + 16), quotient(x + i + 24));
      const __m256i c = _mm256_min_epi16(_mm256_max_epi16(a, lowest), highest);
      const __m256i d = _mm256_min_epi16(_mm256_max_epi16(b, lowest), highest);
      kept = _mm256_add_epi16(kept, _mm256_cmpeq_epi16(a, c));
      kept = _mm256_add_epi16(kept, _mm256_cmpeq_epi16(b, d));
      const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(c, d), in_order);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), bytes);
    }
    unclamped -= sum_of(kept);
  }
  return static_cast<std::int64_t>(whole) - unclamped +
         Loops<Path>::shift_pseudo<std::int32_t>(x + whole, y + whole, n - whole, s);
}

constexpr IntegerLoops make_loops() {
  IntegerLoops loops = loops_of<Path>();
  loops.shift_pseudo = shift_pseudo;
  return loops;
}

}  // namespace

constinit const IntegerLoops kIntegerLoops = make_loops();

}  // namespace nibble::inline kernels::avx2
