// SPDX-License-Identifier: Apache-2.0
// The engine's kernel on AVX-512 VNNI: 24 sums of 16 outputs stay in registers over all taps, each
// pixel's four values go to all 16 lanes.
#include <immintrin.h>

#include "kernels/filter8/loops.h"
#include "kernels/filter8/paths.h"
#include "kernels/filter8/x86_avx512_rescale.h"

namespace nibble::avx512vnni {
namespace {

struct Path {};
using Loops = Filter8Loops<Path>;

__m512i quad_of(const std::uint8_t* from) {
  int quad = 0;
  __builtin_memcpy(&quad, from, sizeof quad);
  return _mm512_set1_epi32(quad);
}

// When all is summed, finish() gives what takes a pixel's sums from the registers; it is asked for
// no earlier, since its constants would need registers too.
template <int Pixels, int Blocks, class Finish>
void multiply_part(const FilterTile& tile, const Finish& finish) {
  __m512i sums[Pixels][Blocks];
#pragma GCC unroll 14
  for (int p = 0; p < Pixels; ++p) {
#pragma GCC unroll 4
    for (int b = 0; b < Blocks; ++b) sums[p][b] = _mm512_loadu_si512(tile.bias + b * 16);
  }
  const std::int8_t* weights = tile.weights;
  const std::uint8_t* const* rows = tile.rows;
  const std::int64_t depth = tile.depth;
  for (std::int64_t t = 0; t < tile.taps; ++t, rows += Pixels) {
    const std::uint8_t* row[Pixels];
#pragma GCC unroll 14
    for (int p = 0; p < Pixels; ++p) row[p] = rows[p];
    for (std::int64_t k = 0; k < depth; k += 4, weights += Blocks * 64) {
      __m512i columns[Blocks];
#pragma GCC unroll 4
      for (int b = 0; b < Blocks; ++b) columns[b] = _mm512_loadu_si512(weights + b * 64);
#pragma GCC unroll 14
      for (int p = 0; p < Pixels; ++p) {
        const __m512i quad = quad_of(row[p] + k);
#pragma GCC unroll 4
        for (int b = 0; b < Blocks; ++b) {
          sums[p][b] = _mm512_dpbusd_epi32(sums[p][b], quad, columns[b]);
        }
      }
    }
  }
  __asm__ volatile("" : : : "memory");
  const auto take = finish();
#pragma GCC unroll 14
  for (int p = 0; p < Pixels; ++p) {
    __m512i of_pixel[Blocks];  // a copy, so that the sums themselves have no address
#pragma GCC unroll 4
    for (int b = 0; b < Blocks; ++b) {
      of_pixel[b] = sums[p][b];
      __asm__ volatile("" : "+v"(of_pixel[b]));
    }
    take(p, of_pixel);
  }
}

template <int Blocks, int Pixels, class Finish>
void multiply_pixels(const FilterTile& tile, const Finish& finish) {
  if (tile.pixels == Pixels) return multiply_part<Pixels, Blocks>(tile, finish);
  if constexpr (Pixels > 1) multiply_pixels<Blocks, Pixels - 1>(tile, finish);
}

constexpr int kPixels[kFilterBlocks + 1] = {0, 12, 12, 8, 6};

template <int Blocks>
void multiply_blocks(const FilterTile& tile) {
  multiply_pixels<Blocks, kPixels[Blocks]>(tile, [&] {
    return [&](int p, const __m512i* sums) __attribute__((always_inline)) {
#pragma GCC unroll 4
      for (int b = 0; b < Blocks; ++b) {
        _mm512_storeu_si512(tile.sums + p * kFilterColumns + b * 16, sums[b]);
      }
    };
  });
}

void multiply(const FilterTile& tile) {
  switch (tile.blocks) {
    case 1:
      return multiply_blocks<1>(tile);
    case 2:
      return multiply_blocks<2>(tile);
    case 3:
      return multiply_blocks<3>(tile);
    default:
      return multiply_blocks<4>(tile);
  }
}

void expand_s4(const std::uint8_t* from, std::int8_t* to, std::int64_t groups) {
  const __m512i half = _mm512_set1_epi8(15);
  const __m512i values =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1));
  for (std::int64_t g = 0; g < groups; ++g, from += 64, to += 128) {
    const __m512i both = _mm512_loadu_si512(from);
    const __m512i high = _mm512_and_si512(_mm512_srli_epi16(both, 4), half);
    _mm512_storeu_si512(to, _mm512_shuffle_epi8(values, _mm512_and_si512(both, half)));
    _mm512_storeu_si512(to + 64, _mm512_shuffle_epi8(values, high));
  }
}

void expand_u4(const std::uint8_t* from, std::uint8_t* to, std::int64_t groups) {
  const __m256i half = _mm256_set1_epi8(15);
  for (std::int64_t g = 0; g < groups; ++g, from += 32, to += 64) {
    const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(both, 4), half);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_and_si256(both, half));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 32), high);
  }
}

// Where the next piece of pixels goes.
void advance(RescaleTile& rescale, int pixels) {
  rescale.out = static_cast<std::uint8_t*>(rescale.out) + pixels * rescale.stride;
  rescale.addend.data += pixels * rescale.addend.stride;
}

// Whole panels of outputs never leave the registers as sums.
void multiply_rescale(const FilterTile& tile, const RescaleTile& rescale,
                      std::span<const FilterPiece> pieces) {
  RescaleTile next = rescale;
  if (tile.blocks != kFilterBlocks || rescale.is_wide || rescale.storage == FilterStorage::s32) {
    for (const FilterPiece& piece : pieces) {
      multiply(piece.of(tile));
      next.pixels = piece.pixels;
      avx512_rescale<Path>(next);
      advance(next, piece.pixels);
    }
    return;
  }
  with_avx512_rescale(rescale, [&]<class Law>() {
    for (const FilterPiece& piece : pieces) {
      multiply_pixels<kFilterBlocks, kPixels[kFilterBlocks]>(piece.of(tile), [&] {
        return [law = Law(next)](int p, const __m512i* sums) __attribute__((always_inline)) {
          law.template pixel<kFilterBlocks>(
              p, [&](int b) __attribute__((always_inline)) { return sums[b]; });
        };
      });
      advance(next, piece.pixels);
    }
  });
}

}  // namespace

constinit const Filter8 kFilter8 = {.multiply = multiply,
                                    .rescale = avx512_rescale<Path>,
                                    .multiply_rescale = multiply_rescale,

                                    .expand_s4 = expand_s4,
                                    .expand_u4 = expand_u4,
                                    .largest_u8 = Loops::largest_u8,
                                    .largest_u4 = Loops::largest_u4,
                                    .add_u8 = Loops::add_u8,
                                    .pixels = {0, kPixels[1], kPixels[2], kPixels[3], kPixels[4]}};

}  // namespace nibble::avx512vnni
