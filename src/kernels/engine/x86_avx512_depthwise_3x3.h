// SPDX-License-Identifier: Apache-2.0
// Kernels of 3×3 without dilation, most of all, one channel to one on AVX-512 VNNI: columns stay in
// registers as long as windows need them, and two pixels share what is read of the weights.
//
// Unpacking rows and packing sums to bytes both work on parts of 128 bits. What the one takes apart
// the other puts together, so that nothing else moves a number, if weights, bias and multipliers
// lie in that order: of 64 bytes, number 4·b + e of part l is lane 4·l + e of vector b. A part has
// 16 channels; where a tile has no more, or 32, the other parts have those of further pixels.
#pragma once

#include <immintrin.h>

#include "kernels/engine/x86_avx512_rescale.h"

namespace nibble::inline kernels {

// Numbers of 16·blocks channels, 32 bits each, in that order.
template <class Path>
class TurnedLanes {
 public:
  void turn(const std::int32_t* from, int blocks) {
    if (blocks == kFilterBlocks) {
      return turn({_mm512_loadu_si512(from), _mm512_loadu_si512(from + 16),
                   _mm512_loadu_si512(from + 32), _mm512_loadu_si512(from + 48)});
    }
    for (int b = 0; b < kFilterBlocks; ++b) {
      for (int part = 0; part < 4; ++part) {
        const void* four = from + part % blocks * kFilterOutputs + b * 4;
        _mm_store_si128(reinterpret_cast<__m128i*>(lanes_ + b * 16 + part * 4),
                        _mm_loadu_si128(static_cast<const __m128i*>(four)));
      }
    }
  }
  // Part l of vector b becomes part b of vector l, and back.
  void turn(const __m512i (&from)[kFilterBlocks]) {
    const __m512i even01 = _mm512_shuffle_i32x4(from[0], from[1], 0x88);  // parts 0, 2 of both
    const __m512i even23 = _mm512_shuffle_i32x4(from[2], from[3], 0x88);
    const __m512i odd01 = _mm512_shuffle_i32x4(from[0], from[1], 0xDD);
    const __m512i odd23 = _mm512_shuffle_i32x4(from[2], from[3], 0xDD);
    _mm512_store_si512(lanes_, _mm512_shuffle_i32x4(even01, even23, 0x88));
    _mm512_store_si512(lanes_ + 16, _mm512_shuffle_i32x4(odd01, odd23, 0x88));
    _mm512_store_si512(lanes_ + 32, _mm512_shuffle_i32x4(even01, even23, 0xDD));
    _mm512_store_si512(lanes_ + 48, _mm512_shuffle_i32x4(odd01, odd23, 0xDD));
  }
  const std::int32_t* data() const { return lanes_; }
  __m512i operator[](int b) const { return _mm512_load_si512(lanes_ + b * 16); }

 private:
  alignas(64) std::int32_t lanes_[kFilterColumns];
};

template <class Path>
class Depthwise3x3 {
 public:
  using Vectors = __m512i[kFilterBlocks];

  static bool takes(const DepthwiseTile& tile) {
    return tile.kernel_rows == 3 && tile.kernel_columns == 3 && tile.dilation == 1 &&
           (tile.stride == 1 || tile.stride == 2);
  }

  explicit Depthwise3x3(const DepthwiseTile& tile) : tile_(tile) {
    bias_.turn(tile.bias, tile.blocks);
    for (int x = 0; x < 3; ++x) {
      weights_[x].turn(reinterpret_cast<const std::int32_t*>(tile.weights) + x * tile.blocks * 16,
                       tile.blocks);
    }
  }

  // Of `rows`, as the tile has them: calls take<Side>(p, apart, sums) or take<Side>(p, apart, sums,
  // second) until all pixels were there: the sums are those of `Side` pixels, p, p + apart, …, and
  // of those one further.
  template <class Take>
  void each(const std::uint8_t* const* rows, const Take& take) const {
    if (tile_.blocks == 1) return with_side<4>(rows, take);
    if (tile_.blocks == 2) return with_side<2>(rows, take);
    return with_side<1>(rows, take);
  }

 private:
  template <int Side, class Take>
  void with_side(const std::uint8_t* const* rows, const Take& take) const {
    const int apart = tile_.pixels / Side;
    const int pixels = tile_.pixels - (Side - 1) * apart;
    const auto take_side = [&](int p, const auto&... sums) __attribute__((always_inline)) {
      take.template operator()<Side>(p, apart, sums...);
    };
    if (tile_.stride == 1) return run<1, Side>(rows, pixels, apart, take_side);
    return run<2, Side>(rows, pixels, 2 * apart, take_side);
  }

  // Of a row's first columns, `apart` from each other.
  template <int Side>
  [[gnu::always_inline]] __m512i loaded(const std::uint8_t* const* row, std::int64_t apart) const {
    const std::int64_t at = tile_.channel;
    if constexpr (Side == 1) return _mm512_loadu_si512(row[0] + at);
    if constexpr (Side == 2) {
      const auto half = [&](std::int64_t x) __attribute__((always_inline)) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row[x] + at));
      };
      return _mm512_inserti64x4(_mm512_castsi256_si512(half(0)), half(apart), 1);
    }
    const auto part = [&](std::int64_t x) __attribute__((always_inline)) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(row[x] + at));
    };
    __m512i parts = _mm512_castsi128_si512(part(0));
    parts = _mm512_inserti32x4(parts, part(apart), 1);
    parts = _mm512_inserti32x4(parts, part(2 * apart), 2);
    return _mm512_inserti32x4(parts, part(3 * apart), 3);
  }

  template <int Stride, int Side, class Take>
  void run(const std::uint8_t* const* rows, int pixels, std::int64_t apart,
           const Take& take) const {
    constexpr int kKept = 3 - Stride;  // columns that two windows share
    Vectors columns[3 + Stride];
    const auto turn_next = [&](Vectors & to) __attribute__((always_inline)) {
      turn(loaded<Side>(rows, apart), loaded<Side>(rows + tile_.row_step, apart),
           loaded<Side>(rows + 2 * tile_.row_step, apart), to);
      ++rows;
    };
#pragma GCC unroll 2
    for (int x = 0; x < kKept; ++x) turn_next(columns[x]);
    int p = 0;
    for (; p + 2 <= pixels; p += 2) {
#pragma GCC unroll 5
      for (int x = kKept; x < 3 + Stride; ++x) turn_next(columns[x]);
      Vectors first, second;
#pragma GCC unroll 4
      for (int b = 0; b < 4; ++b) {
        first[b] = second[b] = in_register(bias_[b]);
#pragma GCC unroll 3
        for (int x = 0; x < 3; ++x) {
          const __m512i weight = in_register(weights_[x][b]);
          first[b] = _mm512_dpbusd_epi32(first[b], columns[x][b], weight);
          second[b] = _mm512_dpbusd_epi32(second[b], columns[x + Stride][b], weight);
        }
      }
      take(p, first, second);
#pragma GCC unroll 2
      for (int x = 0; x < kKept; ++x) {
#pragma GCC unroll 4
        for (int b = 0; b < 4; ++b) columns[x][b] = columns[x + 2 * Stride][b];
      }
    }
    if (p == pixels) return;
#pragma GCC unroll 2
    for (int x = kKept; x < 3; ++x) turn_next(columns[x]);
    Vectors last;
#pragma GCC unroll 4
    for (int b = 0; b < 4; ++b) {
      last[b] = bias_[b];
#pragma GCC unroll 3
      for (int x = 0; x < 3; ++x)
        last[b] = _mm512_dpbusd_epi32(last[b], columns[x][b], weights_[x][b]);
    }
    take(p, last);
  }

  // Three rows side by side; what stands in the place of a fourth has the weight 0.
  [[gnu::always_inline]] static void turn(__m512i row0, __m512i row1, __m512i row2, Vectors& to) {
    const __m512i low = _mm512_unpacklo_epi8(row0, row1);
    const __m512i high = _mm512_unpackhi_epi8(row0, row1);
    const __m512i low2 = _mm512_unpacklo_epi8(row2, row2);
    const __m512i high2 = _mm512_unpackhi_epi8(row2, row2);
    to[0] = _mm512_unpacklo_epi16(low, low2);
    to[1] = _mm512_unpackhi_epi16(low, low2);
    to[2] = _mm512_unpacklo_epi16(high, high2);
    to[3] = _mm512_unpackhi_epi16(high, high2);
  }

  const DepthwiseTile& tile_;
  TurnedLanes<Path> bias_;
  TurnedLanes<Path> weights_[3];
};

}  // namespace nibble::inline kernels
