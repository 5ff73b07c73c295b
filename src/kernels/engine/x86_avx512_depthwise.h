// SPDX-License-Identifier: Apache-2.0
// One channel to one on AVX-512 VNNI, 16 channels at a time; for the files of paths that have it.
#pragma once

#include <immintrin.h>

#include <type_traits>

#include "kernels/engine/x86_avx512_depthwise_3x3.h"
#include "kernels/engine/x86_avx512_rescale.h"
#include "kernels/engine/x86_depthwise_columns.h"

namespace nibble::inline kernels {

// 64 channels of up to four rows, side by side.
template <class Path>
struct Turned64 {
  static constexpr int kChannels = 64;

  template <int Rows>
  static void turn(const std::uint8_t* const (&from)[4], std::uint8_t* to) {
    // Unpacking works on parts of 128 bits: this order comes out as that of the channels.
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i values[4] = {};
#pragma GCC unroll 4
    for (int y = 0; y < Rows; ++y)
      values[y] = _mm512_permutexvar_epi32(order, _mm512_loadu_si512(from[y]));
    const __m512i low[2] = {_mm512_unpacklo_epi8(values[0], values[1]),
                            _mm512_unpacklo_epi8(values[2], values[3])};
    const __m512i high[2] = {_mm512_unpackhi_epi8(values[0], values[1]),
                             _mm512_unpackhi_epi8(values[2], values[3])};
    _mm512_storeu_si512(to, _mm512_unpacklo_epi16(low[0], low[1]));
    _mm512_storeu_si512(to + 64, _mm512_unpackhi_epi16(low[0], low[1]));
    _mm512_storeu_si512(to + 128, _mm512_unpacklo_epi16(high[0], high[1]));
    _mm512_storeu_si512(to + 192, _mm512_unpackhi_epi16(high[0], high[1]));
  }
};

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
  const auto run = [&]<int Blocks>() {
    const auto take_blocks = [&](int p, const __m512i(&sums)[Blocks])
        __attribute__((always_inline)) {
      take.template operator()<Blocks>(p, sums);
    };
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

// The sums of each part to their place.
template <class Path>
void avx512_depthwise_3x3(const DepthwiseTile& tile) {
  using Kernel = Depthwise3x3<Path>;
  const auto put = [&]<int Side>(int p, int apart, const typename Kernel::Vectors& sums) {
    TurnedLanes<Path> turned;
    turned.turn(sums);
    const int blocks = kFilterBlocks / Side;
    for (int part = 0; part < blocks * Side; ++part) {
      if (part % blocks >= tile.blocks) continue;
      const std::int64_t pixel = p + part / blocks * apart;
      _mm512_storeu_si512(tile.sums + pixel * kFilterColumns + part % blocks * kFilterOutputs,
                          turned[part]);
    }
  };
  Kernel(tile).each(tile.rows, [&]<int Side>(int p, int apart, const auto&... sums) {
    (put.template operator()<Side>(p++, apart, sums), ...);
  });
}

template <class Path>
void avx512_depthwise(const DepthwiseTile& tile) {
  if (Depthwise3x3<Path>::takes(tile)) return avx512_depthwise_3x3<Path>(tile);
  avx512_depthwise_each<Path>(tile, [&]<int Blocks>(int p, const __m512i* sums) {
#pragma GCC unroll 4
    for (int b = 0; b < Blocks; ++b)
      _mm512_storeu_si512(tile.sums + p * kFilterColumns + b * 16, sums[b]);
  });
}

// The bytes of `Side` pixels.
template <int Side>
[[gnu::always_inline]] inline void put_side(__m512i bytes, __mmask64 columns, std::uint8_t* out,
                                            std::int64_t apart) {
  if constexpr (Side == 1) {
    _mm512_mask_storeu_epi8(out, columns, bytes);
  } else if constexpr (Side == 2) {
    const auto half = static_cast<__mmask32>(columns);
    _mm256_mask_storeu_epi8(out, half, _mm512_castsi512_si256(bytes));
    _mm256_mask_storeu_epi8(out + apart, half, _mm512_extracti64x4_epi64(bytes, 1));
  } else {
    const auto part = static_cast<__mmask16>(columns);
    _mm_mask_storeu_epi8(out, part, _mm512_castsi512_si128(bytes));
    _mm_mask_storeu_epi8(out + apart, part, _mm512_extracti32x4_epi32(bytes, 1));
    _mm_mask_storeu_epi8(out + 2 * apart, part, _mm512_extracti32x4_epi32(bytes, 2));
    _mm_mask_storeu_epi8(out + 3 * apart, part, _mm512_extracti32x4_epi32(bytes, 3));
  }
}

// What lies by channel is sorted once for all lines.
template <class Path>
void avx512_depthwise_3x3_rescale(const DepthwiseTile& tile, const RescaleTile& rescale,
                                  const DepthwiseLines& lines) {
  using Kernel = Depthwise3x3<Path>;
  TurnedLanes<Path> multipliers;
  multipliers.turn(rescale.multiplier, tile.blocks);
  RescaleTile turned = rescale;
  turned.multiplier = multipliers.data();
  turned.columns = kFilterColumns;
  const __mmask64 columns = first_bytes(rescale.columns);
  const Kernel kernel(tile);
  with_plain_rescale(turned, [&]<class Law>() {
    const Law law(turned);
    lines.each(tile, rescale, [&](const DepthwiseTile& line, const RescaleTile& by) {
      auto* const out = static_cast<std::uint8_t*>(by.out);
      kernel.each(
          line.rows, [&]<int Side>(int p, int apart,
                                   const auto&... sums) __attribute__((always_inline)) {
            __m512i bytes[sizeof...(sums)];
            law.bytes_in_place(bytes, sums...);
            for (const __m512i& each : bytes)
              put_side<Side>(each, columns, out + p++ * by.stride, apart * by.stride);
          });
    });
  });
}

// The usual bytes without an addend never leave the registers as sums.
template <class Path>
void avx512_depthwise_rescale(const DepthwiseTile& tile, const RescaleTile& rescale,
                              const DepthwiseLines& lines) {
  if (is_plain(rescale) && Depthwise3x3<Path>::takes(tile))
    return avx512_depthwise_3x3_rescale<Path>(tile, rescale, lines);
  lines.each(tile, rescale, [](const DepthwiseTile& line, const RescaleTile& by) {
    if (!is_plain(by)) {
      avx512_depthwise<Path>(line);
      return avx512_rescale<Path>(by);
    }
    with_plain_rescale(by, [&]<class Law>() {
      const Law law(by);
      avx512_depthwise_each<Path>(
          line, [&]<int Blocks>(int p, const __m512i* sums) __attribute__((always_inline)) {
            law.template pixel<Blocks>(
                p, [&](int b) __attribute__((always_inline)) { return sums[b]; });
          });
    });
  });
}

}  // namespace nibble::inline kernels
