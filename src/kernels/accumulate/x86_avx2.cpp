// SPDX-License-Identifier: Apache-2.0
// The vocabulary of AVX2: four doubles a vector.
#include <immintrin.h>

#include "kernels/accumulate/processor_tiles.h"

namespace nibble::inline kernels::avx2 {
namespace {

struct Lanes {
  using Real = __m256d;
  using Word = __m256i;
  using Mask = __m256d;
  static constexpr int kLanes = 4;
  static constexpr int kRows = 4;
  static constexpr int kColumns = 1;

  static Real real(double x) { return _mm256_set1_pd(x); }
  static Word word(std::uint64_t x) { return _mm256_set1_epi64x(static_cast<long long>(x)); }

  static __m128i first(int count) {
    return _mm_cmpgt_epi32(_mm_set1_epi32(count), _mm_setr_epi32(0, 1, 2, 3));
  }
  static Real load(const float* from, int count) {
    return _mm256_cvtps_pd(_mm_maskload_ps(from, first(count)));
  }
  static void store(float* to, Real x, int count) {
    const Real clean = select(_mm256_cmp_pd(x, x, _CMP_UNORD_Q), real(__builtin_nan("")), x);
    _mm_maskstore_ps(to, first(count), _mm256_cvtpd_ps(clean));
  }

  static Real add(Real x, Real y) { return _mm256_add_pd(x, y); }
  static Real sub(Real x, Real y) { return _mm256_sub_pd(x, y); }
  static Real mul(Real x, Real y) { return _mm256_mul_pd(x, y); }
  static Real min(Real x, Real y) { return _mm256_min_pd(x, y); }
  static Real larger_power(Real x, Real y) { return _mm256_max_pd(x, y); }

  // TwoSum; an inexact even sum moves by one last place to the side of its error.
  static Real add_odd(Real x, Real y) {
    const Real sum = add(x, y);
    const Real taken = sub(sum, x);
    const Real error = add(sub(x, sub(sum, taken)), sub(y, taken));
    const Word bits = _mm256_castpd_si256(sum);
    const Word zero = _mm256_setzero_si256();
    // -1 where the error points to zero, 1 where away from it: bit patterns grow with magnitudes.
    const Word toward = _mm256_cmpgt_epi64(zero, xor_words(bits, _mm256_castpd_si256(error)));
    const Word move = _mm256_or_si256(toward, word(1));
    const Word is_even = _mm256_cmpeq_epi64(and_words(bits, word(1)), zero);
    const Word is_inexact = _mm256_castpd_si256(_mm256_cmp_pd(error, real(0.0), _CMP_NEQ_OQ));
    const Word applied = and_words(move, and_words(is_even, is_inexact));
    return _mm256_castsi256_pd(add_words(bits, applied));
  }

  static Real negative(Real x) { return _mm256_xor_pd(x, real(-0.0)); }
  static Real magnitude(Real x) { return _mm256_andnot_pd(real(-0.0), x); }
  static Real with_sign_of(Real y, Real x) {  // y is not negative
    return _mm256_or_pd(y, _mm256_and_pd(x, real(-0.0)));
  }

  // 2^floor(log2 y) of a normal y.
  static Real binade(Real y) {
    return _mm256_and_pd(y, _mm256_castsi256_pd(word(0x7FF0000000000000)));
  }
  static Word exponent(std::int64_t e) { return word(static_cast<std::uint64_t>(e) << 52); }
  static Real shift_exponent(Real x, Word exponent) {
    return _mm256_castsi256_pd(_mm256_add_epi64(_mm256_castpd_si256(x), exponent));
  }

  static Mask greater(Real x, Real y) { return _mm256_cmp_pd(x, y, _CMP_GT_OQ); }
  static Mask less(Real x, Real y) { return _mm256_cmp_pd(x, y, _CMP_LT_OQ); }
  static Mask equal(Real x, Real y) { return _mm256_cmp_pd(x, y, _CMP_EQ_OQ); }
  static Real select(Mask mask, Real yes, Real no) { return _mm256_blendv_pd(no, yes, mask); }

  static Word add_words(Word x, Word y) { return _mm256_add_epi64(x, y); }
  static Word and_words(Word x, Word y) { return _mm256_and_si256(x, y); }
  static Word xor_words(Word x, Word y) { return _mm256_xor_si256(x, y); }
  static Word multiply_low_halves(Word x, Word y) { return _mm256_mul_epu32(x, y); }
  static Word shift_right(Word x, int bits) { return _mm256_srl_epi64(x, _mm_cvtsi32_si128(bits)); }
  static Word pick(const Word* words, int index) { return words[index]; }
  static Word lane_multiples(std::uint64_t step) {
    const auto s = static_cast<long long>(step);
    return _mm256_setr_epi64x(0, s, 2 * s, 3 * s);
  }
  static Real real_of(Word x) {  // below 2^52
    const Real shifted = _mm256_castsi256_pd(_mm256_or_si256(x, word(0x4330000000000000)));
    return sub(shifted, real(0x1p52));
  }
};

}  // namespace

accumulation::TileKernel tile_kernel(const accumulation::Job& job) {
  return accumulation::choose_kernel<Lanes>(job);
}

}  // namespace nibble::inline kernels::avx2
