// SPDX-License-Identifier: Apache-2.0
// One channel to one on AVX-512 VNNI, 16 channels at a time; for the files of paths that have it.
#pragma once

#include <immintrin.h>

#include <type_traits>

#include "kernels/engine/x86_avx512_rescale.h"
#include "kernels/engine/x86_depthwise_columns.h"

namespace nibble::inline kernels {

// 64 channels of up to four rows, side by side.
template <class Path>
struct Turned64 {
  static constexpr int kChannels = 64;

  // Of the first 16·Blocks channels; no more than 32 bytes are read where those are enough.
  template <int Rows, int Blocks = kFilterBlocks>
  [[gnu::always_inline]] static void turn(const std::uint8_t* const (&from)[4], __m512i (&to)[4]) {
    // Unpacking works on parts of 128 bits: this order comes out as that of the channels.
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i values[4] = {};
#pragma GCC unroll 4
    for (int y = 0; y < Rows; ++y) {
      values[y] = _mm512_permutexvar_epi32(order, loaded<Blocks>(from[y]));
    }
    const __m512i low[2] = {_mm512_unpacklo_epi8(values[0], values[1]),
                            _mm512_unpacklo_epi8(values[2], values[3])};
    const __m512i high[2] = {_mm512_unpackhi_epi8(values[0], values[1]),
                             _mm512_unpackhi_epi8(values[2], values[3])};
    to[0] = _mm512_unpacklo_epi16(low[0], low[1]);
    to[1] = _mm512_unpackhi_epi16(low[0], low[1]);
    to[2] = _mm512_unpacklo_epi16(high[0], high[1]);
    to[3] = _mm512_unpackhi_epi16(high[0], high[1]);
  }

  template <int Blocks>
  static __m512i loaded(const std::uint8_t* from) {
    if constexpr (Blocks > 2) return _mm512_loadu_si512(from);
    return _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }

  template <int Rows>
  static void turn(const std::uint8_t* const (&from)[4], std::uint8_t* to) {
    __m512i quads[4];
    turn<Rows>(from, quads);
#pragma GCC unroll 4
    for (int b = 0; b < 4; ++b) _mm512_storeu_si512(to + b * 64, quads[b]);
  }
};

// Kernels of 3×3 without dilation, most of all: columns stay in registers as long as windows need
// them. take(pixel, sums) has the last word.
template <class Path, int Blocks, int Stride, class Take>
void avx512_depthwise_3x3(const DepthwiseTile& tile, const Take& take) {
  __m512i columns[3][kFilterBlocks];
  const std::uint8_t* const* rows = tile.rows;
  const auto turn = [&](__m512i(&to)[kFilterBlocks]) __attribute__((always_inline)) {
    const std::uint8_t* const from[4] = {rows[0] + tile.channel, rows[tile.row_step] + tile.channel,
                                         rows[2 * tile.row_step] + tile.channel};
    Turned64<Path>::template turn<3, Blocks>(from, to);
    ++rows;
  };
  // The window begins with columns[First]; those behind it go round.
  const auto pixel = [&]<int First>(int p) __attribute__((always_inline)) {
#pragma GCC unroll 2
    for (int s = 3 - Stride; s < 3; ++s) turn(columns[(First + s) % 3]);
    __m512i sums[Blocks];
#pragma GCC unroll 4
    for (int b = 0; b < Blocks; ++b) {
      sums[b] = _mm512_loadu_si512(tile.bias + b * 16);
#pragma GCC unroll 3
      for (int x = 0; x < 3; ++x) {
        const __m512i weight = _mm512_loadu_si512(tile.weights + (x * Blocks + b) * 64);
        sums[b] = _mm512_dpbusd_epi32(sums[b], columns[(First + x) % 3][b], weight);
      }
    }
    take(p, sums);
  };
#pragma GCC unroll 2
  for (int x = 0; x < 3 - Stride; ++x) turn(columns[x]);
  int p = 0;
  for (; p + 3 <= tile.pixels; p += 3) {
    pixel.template operator()<0>(p);
    pixel.template operator()<Stride>(p + 1);
    pixel.template operator()<2 * Stride % 3>(p + 2);
  }
  if (p < tile.pixels) pixel.template operator()<0>(p);
  if (p + 1 < tile.pixels) pixel.template operator()<Stride>(p + 1);
}

// `Pixels` of them from `first` on; take(pixel, sums) has the last word.
template <class Path, int Blocks, int Pixels, class Take>
void avx512_depthwise_pixels(const DepthwiseTile& tile, int first, const Take& take) {
  const std::int64_t quads = tile.quads();
  const std::int64_t column = quads * kFilterColumns * 4;  // bytes
  __m512i sums[Pixels][Blocks];
#pragma GCC unroll 8
  for (int p = 0; p < Pixels; ++p) {
#pragma GCC unroll 4
    for (int b = 0; b < Blocks; ++b) sums[p][b] = _mm512_loadu_si512(tile.bias + b * 16);
  }
  const std::int8_t* weights = tile.weights;
  for (std::int64_t x = 0; x < tile.kernel_columns; ++x) {
    const std::uint8_t* from = tile.scratch + (first * tile.stride + x * tile.dilation) * column;
    for (std::int64_t q = 0; q < quads; ++q, weights += Blocks * 64, from += kFilterColumns * 4) {
#pragma GCC unroll 4
      for (int b = 0; b < Blocks; ++b) {
        const __m512i weight = _mm512_loadu_si512(weights + b * 64);
#pragma GCC unroll 8
        for (int p = 0; p < Pixels; ++p) {
          const __m512i values = _mm512_loadu_si512(from + p * tile.stride * column + b * 64);
          sums[p][b] = _mm512_dpbusd_epi32(sums[p][b], values, weight);
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < Pixels; ++p) {
    __m512i of_pixel[Blocks];  // a copy, so that the sums themselves have no address
#pragma GCC unroll 4
    for (int b = 0; b < Blocks; ++b) {
      of_pixel[b] = sums[p][b];
      __asm__ volatile("" : "+v"(of_pixel[b]));
    }
    take(first + p, of_pixel);
  }
}

template <class Path, int Blocks, class Take>
void avx512_depthwise_blocks(const DepthwiseTile& tile, const Take& take) {
  constexpr int kPixels = Blocks <= 2 ? 8 : 4;
  int first = 0;
  for (; first + kPixels <= tile.pixels; first += kPixels)
    avx512_depthwise_pixels<Path, Blocks, kPixels>(tile, first, take);
  for (; first < tile.pixels; ++first) avx512_depthwise_pixels<Path, Blocks, 1>(tile, first, take);
}

// Calls take<Blocks>(pixel, sums) for every pixel.
template <class Path, class Take>
void avx512_depthwise_each(const DepthwiseTile& tile, const Take& take) {
  const bool is_3x3 = tile.kernel_rows == 3 && tile.kernel_columns == 3 && tile.dilation == 1;
  const auto run = [&]<int Blocks>() {
    const auto take_blocks = [&](int p, const __m512i(&sums)[Blocks])
        __attribute__((always_inline)) {
      take.template operator()<Blocks>(p, sums);
    };
    if (is_3x3 && tile.stride == 1) return avx512_depthwise_3x3<Path, Blocks, 1>(tile, take_blocks);
    if (is_3x3 && tile.stride == 2) return avx512_depthwise_3x3<Path, Blocks, 2>(tile, take_blocks);
    DepthwiseColumns<std::conditional_t<Blocks <= 2, Turned32<Path>, Turned64<Path>>>::gather(tile);
    avx512_depthwise_blocks<Path, Blocks>(tile, take_blocks);
  };
  switch (tile.blocks) {
    case 1:
      return run.template operator()<1>();
    case 2:
      return run.template operator()<2>();
    case 3:
      return run.template operator()<3>();
    default:
      return run.template operator()<4>();
  }
}

template <class Path>
void avx512_depthwise(const DepthwiseTile& tile) {
  avx512_depthwise_each<Path>(tile, [&]<int Blocks>(int p, const __m512i* sums) {
#pragma GCC unroll 4
    for (int b = 0; b < Blocks; ++b)
      _mm512_storeu_si512(tile.sums + p * kFilterColumns + b * 16, sums[b]);
  });
}

// The usual bytes without an addend never leave the registers as sums.
template <class Path>
void avx512_depthwise_rescale(const DepthwiseTile& tile, const RescaleTile& rescale) {
  if (!is_plain(rescale)) {
    avx512_depthwise<Path>(tile);
    return avx512_rescale<Path>(rescale);
  }
  with_plain_rescale(rescale, [&]<class Law>() {
    const Law law(rescale);
    avx512_depthwise_each<Path>(
        tile, [&]<int Blocks>(int p, const __m512i* sums) __attribute__((always_inline)) {
          law.template pixel<Blocks>(
              p, [&](int b) __attribute__((always_inline)) { return sums[b]; });
        });
  });
}

}  // namespace nibble::inline kernels
