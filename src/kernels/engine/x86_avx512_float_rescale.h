// SPDX-License-Identifier: Apache-2.0
// The rescale law of a sum and what is added in floats, where laws/small_rescale.h proves them
// exact; 16 outputs at a time. The processor's mode of rounding has no say.
#pragma once

#include <immintrin.h>

#include "kernels/engine/engine_kernels.h"
#include "laws/small_rescale.h"

namespace nibble::inline kernels {
namespace {  // a copy for each file: they are compiled with flags of their own

// Of 16 columns: multipliers, those of odd columns in even lanes, those of what is added. Floats:
// what is times `first`, and `second` more.
struct RescaleMultipliers {
  __m512i first;
  __m512i second;
  __m512i of_addend;
  __m512i second_of_addend;
};

// A stored byte x is the float 2^15 + x without an instruction that converts: in its bits 8 to 15.
inline constexpr int kByteBase = 1 << 15;

template <FilterStorage Addend>
[[gnu::always_inline]] inline __m512 float_addend_of(const std::uint8_t* data, int b) {
  const __m512i base = _mm512_set1_epi32(0x47000000);  // the float kByteBase
  const __m512i spread =
      _mm512_setr_epi32(0x80800080, 0x80800180, 0x80800280, 0x80800380, 0x80800480, 0x80800580,
                        0x80800680, 0x80800780, 0x80800880, 0x80800980, 0x80800A80, 0x80800B80,
                        0x80800C80, 0x80800D80, 0x80800E80, 0x80800F80);
  const auto* at =
      reinterpret_cast<const __m128i*>(data + (Addend == FilterStorage::u4 ? b % 2 * 16 : b * 16));
  __m512i x = _mm512_broadcast_i32x4(_mm_loadu_si128(at));
  if constexpr (Addend == FilterStorage::u8)
    return _mm512_castsi512_ps(_mm512_mask_shuffle_epi8(base, 0x2222'2222'2222'2222, x, spread));
  x = _mm512_shuffle_epi8(x, spread);
  if (b >= 2) x = _mm512_srli_epi32(x, 4);
  constexpr int kAndOr = 0xEA;  // (x & 15) | base
  return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(x, _mm512_set1_epi32(0xF00), base, kAndOr));
}

// Of block b. Each number is a float: 3·2^22·m / 2^s has the bits of 3·m, and of (2^15 + zero)·f
// the last seven are 0, its difference to 1.5·2^23 is below 2^31.
inline RescaleMultipliers float_multipliers_of(const RescaleTile& tile, int b) {
  const __m512 middle = _mm512_set1_ps(kFloatMiddle);
  const __m512 zero = _mm512_set1_ps(static_cast<float>(kByteBase + tile.addend.zero));
  const auto shifted = [](const std::int32_t* x, int shift) {
    const float step = 1 / static_cast<float>(std::int64_t{1} << shift);
    return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_loadu_si512(x)), _mm512_set1_ps(step));
  };
  const __m512 m = shifted(tile.multiplier + b * 16, tile.shift);
  const __m512 f = shifted(tile.addend.multiplier + b * 16, tile.addend.shift);
  return {_mm512_castps_si512(m),
          _mm512_castps_si512(_mm512_fnmadd_ps(middle, m, _mm512_set1_ps(0.5F))),
          _mm512_castps_si512(f), _mm512_castps_si512(_mm512_fnmadd_ps(zero, f, middle))};
}

template <int Rounding>
[[gnu::always_inline]] inline __m512 times_and_more(__m512 x, __m512i factor, __m512i more) {
  return _mm512_fmadd_round_ps(x, _mm512_castsi512_ps(factor), _mm512_castsi512_ps(more),
                               Rounding | _MM_FROUND_NO_EXC);
}

// What is added is in the last bits of a float around 1.5·2^23, so that integers add the sum to it.
template <FilterStorage Addend>
[[gnu::always_inline]] inline __m512i rescaled_in_floats(__m512i sum, const RescaleMultipliers& by,
                                                         const std::uint8_t* data, int b) {
  const __m512 addend = times_and_more<_MM_FROUND_TO_POS_INF>(float_addend_of<Addend>(data, b),
                                                              by.of_addend, by.second_of_addend);
  const __m512i total = _mm512_add_epi32(sum, _mm512_castps_si512(addend));
  return _mm512_cvtt_roundps_epi32(
      times_and_more<_MM_FROUND_TO_ZERO>(_mm512_castsi512_ps(total), by.first, by.second),
      _MM_FROUND_NO_EXC);
}

}  // namespace
}  // namespace nibble::inline kernels
