// SPDX-License-Identifier: Apache-2.0
// The vector vocabulary on AVX-512 (F, BW, DQ, VL): sixteen 32-bit lanes.
// portable.h states what each word means.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace nibble::inline kernels::avx512 {

struct Simd {
  using F = __m512;
  using U = __m512i;
  using M = __mmask16;
  static constexpr std::size_t kLanes = 16;

  static M lanes_below(std::size_t count) { return static_cast<M>((1U << count) - 1); }
  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static U load(const std::uint32_t* p) { return _mm512_loadu_si512(p); }
  static void store(float* p, F x) { _mm512_storeu_ps(p, x); }
  static void store(std::uint32_t* p, U x) { _mm512_storeu_si512(p, x); }
  static F load_first(const float* p, std::size_t n) {
    return _mm512_maskz_loadu_ps(lanes_below(n), p);
  }
  static U load_first(const std::uint32_t* p, std::size_t n) {
    return _mm512_maskz_loadu_epi32(lanes_below(n), p);
  }
  static void store_first(float* p, F x, std::size_t n) {
    _mm512_mask_storeu_ps(p, lanes_below(n), x);
  }
  static void stream(float* p, F x) { _mm512_stream_ps(p, x); }

  static F set(float x) { return _mm512_set1_ps(x); }
  static U set(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static U bits(F x) { return _mm512_castps_si512(x); }
  static F floats(U x) { return _mm512_castsi512_ps(x); }

  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F min(F a, F b) { return _mm512_min_ps(a, b); }
  static F max(F a, F b) { return _mm512_max_ps(a, b); }
  static F round_even(F x) {
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static F truncate(F x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
  static F from_int(U x) { return _mm512_cvtepi32_ps(x); }
  static U to_int(F x) { return _mm512_cvttps_epi32(x); }

  static U add(U a, U b) { return _mm512_add_epi32(a, b); }
  static U sub(U a, U b) { return _mm512_sub_epi32(a, b); }
  static U and_(U a, U b) { return _mm512_and_si512(a, b); }
  static U or_(U a, U b) { return _mm512_or_si512(a, b); }
  static U xor_(U a, U b) { return _mm512_xor_si512(a, b); }
  static U shl(U a, U n) { return _mm512_sllv_epi32(a, n); }
  static U shr(U a, U n) { return _mm512_srlv_epi32(a, n); }
  static U sar(U a, U n) { return _mm512_srav_epi32(a, n); }
  static U max_unsigned(U a, U b) { return _mm512_max_epu32(a, b); }
  static U min_unsigned(U a, U b) { return _mm512_min_epu32(a, b); }
  static U max_signed(U a, U b) { return _mm512_max_epi32(a, b); }
  static U min_signed(U a, U b) { return _mm512_min_epi32(a, b); }
  static std::uint32_t largest(U a) { return _mm512_reduce_max_epu32(a); }

  static M equal(U a, U b) { return _mm512_cmpeq_epi32_mask(a, b); }
  static M less_unsigned(U a, U b) { return _mm512_cmplt_epu32_mask(a, b); }
  static M less_signed(U a, U b) { return _mm512_cmplt_epi32_mask(a, b); }
  static M less(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
  static M less_equal(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
  static M equal(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
  static M not_(M a) { return _knot_mask16(a); }
  static M both(M a, M b) { return _kand_mask16(a, b); }
  static M either(M a, M b) { return _kor_mask16(a, b); }
  static M none() { return 0; }
  static std::uint32_t mask_bits(M a) { return a; }
  static U select(M m, U yes, U no) { return _mm512_mask_blend_epi32(m, no, yes); }
  static F select(M m, F yes, F no) { return _mm512_mask_blend_ps(m, no, yes); }

  static U fraction32(F x) { return _mm512_cvttps_epu32(_mm512_mul_ps(x, set(0x1p32F))); }

  struct Table16 {
    F entries;
  };
  static Table16 table16(const float* p) { return {load(p)}; }
  static F lookup(const Table16& t, U index) { return _mm512_permutexvar_ps(index, t.entries); }
  static F gather(const float* p, U index) { return _mm512_i32gather_ps(index, p, 4); }

  // Eight counters, one word of each in the low half of a 64-bit lane.
  using W = __m512i;
  static constexpr std::size_t kCounters = 8;
  static constexpr std::size_t kBatch = 4;
  static W counters(std::uint64_t first) {
    return _mm512_add_epi64(_mm512_set1_epi64(static_cast<long long>(first)),
                            _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7));
  }
  static W wide(std::uint32_t x) { return _mm512_set1_epi64(x); }
  static W multiply_low(W a, W b) { return _mm512_mul_epu32(a, b); }
  static W high_half(W a) { return _mm512_srli_epi64(a, 32); }
  static W xor3(W a, W b, W c) { return _mm512_ternarylogic_epi64(a, b, c, 0x96); }
  static void store_blocks(std::uint32_t* p, W w0, W w1, W w2, W w3) {
    const W w01 = _mm512_mask_blend_epi32(0xAAAA, w0, _mm512_slli_epi64(w1, 32));
    const W w23 = _mm512_mask_blend_epi32(0xAAAA, w2, _mm512_slli_epi64(w3, 32));
    _mm512_storeu_si512(p, _mm512_unpacklo_epi64(w01, w23));
    _mm512_storeu_si512(p + 16, _mm512_unpackhi_epi64(w01, w23));
  }
};

}  // namespace nibble::inline kernels::avx512
