// SPDX-License-Identifier: Apache-2.0
// The int8 product on AVX-512 VNNI, whose instruction wants one factor unsigned: b + 128. What that
// adds, 128·Σ a, is taken off again.
#include <immintrin.h>

#include "kernels/integer_paths.h"

namespace nibble::inline kernels::avx512vnni {
namespace {

// Σ_t -a_sums of the 16 rows.
__m512i offsets_of(std::span<const ProductTerm> terms) {
  __m512i offsets = _mm512_setzero_si512();
  for (const ProductTerm& term : terms) {
    offsets = _mm512_sub_epi32(offsets, _mm512_loadu_si512(term.a_sums));
  }
  return offsets;
}

__m512i quad_of(const std::int8_t* a) {
  int quad = 0;
  __builtin_memcpy(&quad, a, sizeof quad);
  return _mm512_set1_epi32(quad);
}

constexpr int kRows = 8;

// kRows × Blocks accumulators from (row, block) on, which stay in registers over all terms.
template <int Blocks>
void multiply_part(std::span<const ProductTerm> terms, const ProductTile& tile,
                   const std::int32_t* offsets, std::int64_t row, std::int64_t block) {
  __m512i sums[kRows][Blocks];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (int j = 0; j < Blocks; ++j) sums[r][j] = _mm512_set1_epi32(offsets[row + r]);
  }
  const std::int64_t stride = tile.a_stride;
  for (const ProductTerm& term : terms) {
    const std::int8_t* a = term.a + row * stride;
    const std::int8_t* b = term.b + block * 64;
    for (std::int64_t k = 0; k < tile.depth; k += 4, a += 4, b += tile.b_stride) {
      __m512i columns[Blocks];
#pragma GCC unroll 3
      for (int j = 0; j < Blocks; ++j) columns[j] = _mm512_loadu_si512(b + j * 64);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const __m512i quad = quad_of(a + r * stride);
#pragma GCC unroll 3
        for (int j = 0; j < Blocks; ++j) {
          sums[r][j] = _mm512_dpbusd_epi32(sums[r][j], columns[j], quad);
        }
      }
    }
  }
  std::int32_t* c = tile.c + row * tile.c_stride + block * kProductColumns;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r, c += tile.c_stride) {
#pragma GCC unroll 3
    for (int j = 0; j < Blocks; ++j) {
      __m512i sum = sums[r][j];
      std::int32_t* to = c + j * kProductColumns;
      if (tile.accumulates) sum = _mm512_add_epi32(sum, _mm512_loadu_si512(to));
      _mm512_storeu_si512(to, sum);
    }
  }
}

void multiply(std::span<const ProductTerm> terms, const ProductTile& tile) {
  alignas(64) std::int32_t offsets[kProductRows];
  _mm512_store_si512(offsets, offsets_of(terms));
  for (std::int64_t row = 0; row < kProductRows; row += kRows) {
    switch (tile.column_blocks) {
      case 1:
        multiply_part<1>(terms, tile, offsets, row, 0);
        break;
      case 2:
        multiply_part<2>(terms, tile, offsets, row, 0);
        break;
      case 3:
        multiply_part<3>(terms, tile, offsets, row, 0);
        break;
      default:
        multiply_part<2>(terms, tile, offsets, row, 0);
        multiply_part<2>(terms, tile, offsets, row, 2);
    }
  }
}

__mmask16 first(std::int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xFFFF : (1 << count) - 1);
}

// Of all lanes; wraps around, as the compiler's own sum must not.
std::int32_t sum_of_lanes(__m512i x) {
  const __m256i eight =
      _mm256_add_epi32(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
  return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 1)));
}

void sum_rows(const std::int8_t* a, std::int64_t rows, std::int64_t depth, std::int64_t stride,
              std::int32_t* sums) {
  const __m512i weight = _mm512_set1_epi8(static_cast<char>(0x80));
  for (std::int64_t r = 0; r < rows; ++r) {
    __m512i sum = _mm512_setzero_si512();
    for (std::int64_t k = 0; k < depth; k += 64) {
      const __m512i values = _mm512_maskz_loadu_epi32(first((depth - k) / 4), a + r * stride + k);
      sum = _mm512_dpbusd_epi32(sum, weight, values);
    }
    sums[r] = sum_of_lanes(sum);
  }
}

}  // namespace

TileOutcome requantize(const TileRounding& tile) {
  const __m128i shift = _mm_cvtsi32_si128(tile.shift);
  const __m512i half = _mm512_set1_epi32(tile.shift == 0 ? 0 : 1 << (tile.shift - 1));
  const __m512i limit = _mm512_set1_epi32(127);
  __m512i largest = _mm512_setzero_si512();
  std::int64_t saturated = 0;
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    for (std::int64_t j = 0; j < tile.columns; j += 16) {
      const __mmask16 lanes = first(tile.columns - j);
      const __m512i x = _mm512_maskz_loadu_epi32(lanes, tile.c + r * tile.c_stride + j);
      const __m512i magnitude = _mm512_abs_epi32(x);
      largest = _mm512_max_epu32(largest, magnitude);
      const __m512i rounded = _mm512_srl_epi32(_mm512_add_epi32(magnitude, half), shift);
      saturated += __builtin_popcount(_mm512_cmpgt_epu32_mask(rounded, limit));
      const __m512i clamped = _mm512_min_epu32(rounded, limit);
      const __m512i result =
          _mm512_mask_sub_epi32(clamped, _mm512_movepi32_mask(x), _mm512_setzero_si512(), clamped);
      _mm_mask_storeu_epi8(tile.out + r * tile.out_stride + j, lanes, _mm512_cvtepi32_epi8(result));
    }
  }
  return {.max_magnitude = _mm512_reduce_max_epu32(largest), .saturated = saturated};
}

constinit const ProductKernels kProductKernels = {
    .multiply = multiply, .sums = sum_rows, .requantize = requantize, .b_flip = 0x80};

}  // namespace nibble::inline kernels::avx512vnni
