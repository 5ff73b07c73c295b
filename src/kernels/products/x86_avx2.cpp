// SPDX-License-Identifier: Apache-2.0
// The int8 product on AVX2, whose byte product wants one factor unsigned: |a| · (b with a's sign).
#include <immintrin.h>

#include "kernels/integer_paths.h"
#include "kernels/products/requantize_loop.h"

namespace nibble::inline kernels::avx2 {
namespace {

struct Path {};

constexpr int kRows = 4;
constexpr int kVectors = 2;  // of eight columns: a block

__m256i load(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

__m256i quad_of(const std::int8_t* a) {
  int quad = 0;
  __builtin_memcpy(&quad, a, sizeof quad);
  return _mm256_set1_epi32(quad);
}

void multiply_part(std::span<const ProductTerm> terms, const ProductTile& tile, std::int64_t row,
                   std::int64_t block) {
  const __m256i ones = _mm256_set1_epi16(1);
  const std::int64_t stride = tile.a_stride;
  __m256i sums[kRows][kVectors] = {};
  for (const ProductTerm& term : terms) {
    const std::int8_t* a = term.a + row * stride;
    const std::int8_t* b = term.b + block * 64;
    for (std::int64_t k = 0; k < tile.depth; k += 4, a += 4, b += tile.b_stride) {
      const __m256i columns[kVectors] = {load(b), load(b + 32)};
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const __m256i quad = quad_of(a + r * stride);
        const __m256i magnitude = _mm256_abs_epi8(quad);
#pragma GCC unroll 2
        for (int j = 0; j < kVectors; ++j) {
          // 2·127·127 fits 16 bits.
          const __m256i pairs = _mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(columns[j], quad));
          sums[r][j] = _mm256_add_epi32(sums[r][j], _mm256_madd_epi16(pairs, ones));
        }
      }
    }
  }
  std::int32_t* c = tile.c + row * tile.c_stride + block * kProductColumns;
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r, c += tile.c_stride) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) {
      __m256i sum = sums[r][j];
      if (tile.accumulates) sum = _mm256_add_epi32(sum, load(c + 8 * j));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + 8 * j), sum);
    }
  }
}

void multiply(std::span<const ProductTerm> terms, const ProductTile& tile) {
  for (std::int64_t block = 0; block < tile.column_blocks; ++block) {
    for (std::int64_t row = 0; row < kProductRows; row += kRows) {
      multiply_part(terms, tile, row, block);
    }
  }
}

}  // namespace

constinit const ProductKernels kProductKernels = {
    .multiply = multiply, .sums = nullptr, .requantize = requantize_rows<Path>, .b_flip = 0};

}  // namespace nibble::inline kernels::avx2
