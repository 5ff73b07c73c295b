// SPDX-License-Identifier: Apache-2.0
// The vector vocabulary on AVX2: eight 32-bit lanes. portable.h states what each word means.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nibble::inline kernels::avx2 {

struct Simd {
  using F = __m256;
  using U = __m256i;
  struct M {
    __m256i lanes;
  };  // all ones or all zeros a lane
  static constexpr std::size_t kLanes = 8;

  static F load(const float* p) { return _mm256_loadu_ps(p); }
  static U load(const std::uint32_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static void store(float* p, F x) { _mm256_storeu_ps(p, x); }
  static void store(std::uint32_t* p, U x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x);
  }
  static __m256i lanes_below(std::size_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static F load_first(const float* p, std::size_t n) {
    return _mm256_maskload_ps(p, lanes_below(n));
  }
  static U load_first(const std::uint32_t* p, std::size_t n) {
    return _mm256_maskload_epi32(reinterpret_cast<const int*>(p), lanes_below(n));
  }
  static void store_first(float* p, F x, std::size_t n) {
    _mm256_maskstore_ps(p, lanes_below(n), x);
  }
  static void stream(float* p, F x) { _mm256_stream_ps(p, x); }

  static F set(float x) { return _mm256_set1_ps(x); }
  static U set(std::uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  static U bits(F x) { return _mm256_castps_si256(x); }
  static F floats(U x) { return _mm256_castsi256_ps(x); }

  static F add(F a, F b) { return _mm256_add_ps(a, b); }
  static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F div(F a, F b) { return _mm256_div_ps(a, b); }
  static F min(F a, F b) { return _mm256_min_ps(a, b); }
  static F max(F a, F b) { return _mm256_max_ps(a, b); }
  static F round_even(F x) {
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static F truncate(F x) { return _mm256_round_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
  static F from_int(U x) { return _mm256_cvtepi32_ps(x); }
  static U to_int(F x) { return _mm256_cvttps_epi32(x); }

  static U add(U a, U b) { return _mm256_add_epi32(a, b); }
  static U sub(U a, U b) { return _mm256_sub_epi32(a, b); }
  static U and_(U a, U b) { return _mm256_and_si256(a, b); }
  static U or_(U a, U b) { return _mm256_or_si256(a, b); }
  static U xor_(U a, U b) { return _mm256_xor_si256(a, b); }
  static U shl(U a, U n) { return _mm256_sllv_epi32(a, n); }
  static U shr(U a, U n) { return _mm256_srlv_epi32(a, n); }
  static U sar(U a, U n) { return _mm256_srav_epi32(a, n); }
  static U max_unsigned(U a, U b) { return _mm256_max_epu32(a, b); }
  static U min_unsigned(U a, U b) { return _mm256_min_epu32(a, b); }
  static U max_signed(U a, U b) { return _mm256_max_epi32(a, b); }
  static U min_signed(U a, U b) { return _mm256_min_epi32(a, b); }
  static std::uint32_t largest(U a) {
    __m128i m = _mm_max_epu32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, _MM_SHUFFLE(1, 0, 3, 2)));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, _MM_SHUFFLE(2, 3, 0, 1)));
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(m));
  }

  static M equal(U a, U b) { return {_mm256_cmpeq_epi32(a, b)}; }
  static M less_unsigned(U a, U b) { return not_({_mm256_cmpeq_epi32(_mm256_max_epu32(a, b), a)}); }
  static M less_signed(U a, U b) { return {_mm256_cmpgt_epi32(b, a)}; }
  static M less(F a, F b) { return {bits(_mm256_cmp_ps(a, b, _CMP_LT_OQ))}; }
  static M less_equal(F a, F b) { return {bits(_mm256_cmp_ps(a, b, _CMP_LE_OQ))}; }
  static M equal(F a, F b) { return {bits(_mm256_cmp_ps(a, b, _CMP_EQ_OQ))}; }
  static M not_(M a) { return {_mm256_xor_si256(a.lanes, _mm256_set1_epi32(-1))}; }
  static M both(M a, M b) { return {_mm256_and_si256(a.lanes, b.lanes)}; }
  static M either(M a, M b) { return {_mm256_or_si256(a.lanes, b.lanes)}; }
  static M none() { return {_mm256_setzero_si256()}; }
  static std::uint32_t mask_bits(M a) {
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(a.lanes)));
  }
  static U select(M m, U yes, U no) { return _mm256_blendv_epi8(no, yes, m.lanes); }
  static F select(M m, F yes, F no) {
    return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(m.lanes));
  }

  // The conversion to integers is signed, so the upper and the lower 16 bits are taken apart.
  static U fraction32(F x) {
    const F scaled = _mm256_mul_ps(x, set(0x1p16F));
    const F high = truncate(scaled);
    const U low = to_int(_mm256_mul_ps(_mm256_sub_ps(scaled, high), set(0x1p16F)));
    return _mm256_or_si256(_mm256_slli_epi32(to_int(high), 16), low);
  }

  struct Table16 {
    F low, high;
  };
  static Table16 table16(const float* p) { return {load(p), load(p + 8)}; }
  static F lookup(const Table16& t, U index) {
    const F low = _mm256_permutevar8x32_ps(t.low, index);
    const F high = _mm256_permutevar8x32_ps(t.high, index);
    return _mm256_blendv_ps(low, high, floats(_mm256_slli_epi32(index, 28)));
  }
  static F gather(const float* p, U index) { return _mm256_i32gather_ps(p, index, 4); }

  // Four counters, one word of each in the low half of a 64-bit lane.
  using W = __m256i;
  static constexpr std::size_t kCounters = 4;
  static constexpr std::size_t kBatch = 2;
  static W counters(std::uint64_t first_counter) {
    return _mm256_add_epi64(_mm256_set1_epi64x(static_cast<long long>(first_counter)),
                            _mm256_setr_epi64x(0, 2, 1, 3));
  }
  static W wide(std::uint32_t x) { return _mm256_set1_epi64x(x); }
  static W multiply_low(W a, W b) { return _mm256_mul_epu32(a, b); }
  static W high_half(W a) { return _mm256_srli_epi64(a, 32); }
  static W xor3(W a, W b, W c) { return _mm256_xor_si256(_mm256_xor_si256(a, b), c); }
  static void store_blocks(std::uint32_t* p, W w0, W w1, W w2, W w3) {
    const W w01 = _mm256_blend_epi32(w0, _mm256_slli_epi64(w1, 32), 0xAA);
    const W w23 = _mm256_blend_epi32(w2, _mm256_slli_epi64(w3, 32), 0xAA);
    store(p, _mm256_unpacklo_epi64(w01, w23));
    store(p + 8, _mm256_unpackhi_epi64(w01, w23));
  }
};

}  // namespace nibble::inline kernels::avx2
