// SPDX-License-Identifier: Apache-2.0
// The vocabulary of AVX-512: eight doubles a vector.
#include <immintrin.h>

#include "kernels/accumulate/processor_tiles.h"

namespace nibble::inline kernels::avx512 {
namespace {

struct Lanes {
  using Real = __m512d;
  using Word = __m512i;
  using Mask = __mmask8;
  static constexpr int kLanes = 8;
  static constexpr int kRows = 4;
  static constexpr int kColumns = 2;

  static Real real(double x) { return _mm512_set1_pd(x); }
  static Word word(std::uint64_t x) { return _mm512_set1_epi64(static_cast<long long>(x)); }

  static __mmask8 first(int count) { return static_cast<__mmask8>((1U << count) - 1); }
  static Real load(const float* from, int count) {
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(first(count), from));
  }
  static void store(float* to, Real x, int count) {
    const __mmask8 is_nan = _mm512_cmp_pd_mask(x, x, _CMP_UNORD_Q);
    const __m256 narrow = _mm512_cvtpd_ps(x);
    const __m256 result = _mm256_mask_mov_ps(narrow, is_nan, _mm256_set1_ps(__builtin_nanf("")));
    _mm256_mask_storeu_ps(to, first(count), result);
  }

  static Real add(Real x, Real y) { return _mm512_add_pd(x, y); }
  static Real sub(Real x, Real y) { return _mm512_sub_pd(x, y); }
  static Real mul(Real x, Real y) { return _mm512_mul_pd(x, y); }
  static Real min(Real x, Real y) { return _mm512_min_pd(x, y); }
  static Real larger_power(Real x, Real y) { return _mm512_max_pd(x, y); }

  // The sum rounded down and up: equal where exact, otherwise neighbours, of which one is odd.
  static Real add_odd(Real x, Real y) {
    const Real down = _mm512_add_round_pd(x, y, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    const Real up = _mm512_add_round_pd(x, y, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
    const Mask is_odd = _mm512_test_epi64_mask(_mm512_castpd_si512(down), word(1));
    return _mm512_mask_mov_pd(up, is_odd, down);
  }

  static Real negative(Real x) { return _mm512_xor_pd(x, real(-0.0)); }
  static Real magnitude(Real x) { return _mm512_abs_pd(x); }
  static Real with_sign_of(Real y, Real x) {
    const __m512i sign = _mm512_castpd_si512(real(-0.0));
    // sign ? x : y, bit by bit
    return _mm512_castsi512_pd(
        _mm512_ternarylogic_epi64(sign, _mm512_castpd_si512(x), _mm512_castpd_si512(y), 0xCA));
  }

  // 2^floor(log2 y) of a normal y.
  static Real binade(Real y) {
    return _mm512_and_pd(y, _mm512_castsi512_pd(word(0x7FF0000000000000)));
  }
  static Word exponent(std::int64_t e) { return word(static_cast<std::uint64_t>(e) << 52); }
  static Real shift_exponent(Real x, Word exponent) {
    return _mm512_castsi512_pd(_mm512_add_epi64(_mm512_castpd_si512(x), exponent));
  }

  static Mask greater(Real x, Real y) { return _mm512_cmp_pd_mask(x, y, _CMP_GT_OQ); }
  static Mask less(Real x, Real y) { return _mm512_cmp_pd_mask(x, y, _CMP_LT_OQ); }
  static Mask equal(Real x, Real y) { return _mm512_cmp_pd_mask(x, y, _CMP_EQ_OQ); }
  static Real select(Mask mask, Real yes, Real no) { return _mm512_mask_mov_pd(no, mask, yes); }

  static Word add_words(Word x, Word y) { return _mm512_add_epi64(x, y); }
  static Word and_words(Word x, Word y) { return _mm512_and_si512(x, y); }
  static Word xor_words(Word x, Word y) { return _mm512_xor_si512(x, y); }
  static Word multiply_low_halves(Word x, Word y) { return _mm512_mul_epu32(x, y); }
  static Word shift_right(Word x, int bits) { return _mm512_srl_epi64(x, _mm_cvtsi32_si128(bits)); }
  static Word pick(const Word* words, int index) { return words[index]; }
  static Word lane_multiples(std::uint64_t step) {
    return _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), word(step));
  }
  static Real real_of(Word x) {  // below 2^52
    const Real shifted = _mm512_castsi512_pd(_mm512_or_si512(x, word(0x4330000000000000)));
    return _mm512_sub_pd(shifted, real(0x1p52));
  }
};

}  // namespace

accumulation::TileKernel tile_kernel(const accumulation::Job& job) {
  return accumulation::choose_kernel<Lanes>(job);
}

}  // namespace nibble::inline kernels::avx512
