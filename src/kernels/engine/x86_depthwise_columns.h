// SPDX-License-Identifier: Apache-2.0
// Columns of a depthwise tile as quads: four rows of the kernel side by side for each channel. A
// column is turned once and serves all pixels whose windows it lies in.
#pragma once

#include <immintrin.h>

#include "kernels/engine/engine_kernels.h"

namespace nibble::inline kernels {

// 32 channels of up to four rows, side by side.
template <class Path>
struct Turned32 {
  static constexpr int kChannels = 32;

  template <int Rows>
  static void turn(const std::uint8_t* const (&from)[4], std::uint8_t* to) {
    // Unpacking works on parts of 128 bits: this order comes out as that of the channels.
    const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    __m256i values[4] = {};
#pragma GCC unroll 4
    for (int y = 0; y < Rows; ++y) {
      values[y] = _mm256_permutevar8x32_epi32(
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from[y])), order);
    }
    const __m256i low[2] = {_mm256_unpacklo_epi8(values[0], values[1]),
                            _mm256_unpacklo_epi8(values[2], values[3])};
    const __m256i high[2] = {_mm256_unpackhi_epi8(values[0], values[1]),
                             _mm256_unpackhi_epi8(values[2], values[3])};
    auto* quads = reinterpret_cast<__m256i*>(to);
    _mm256_storeu_si256(quads, _mm256_unpacklo_epi16(low[0], low[1]));
    _mm256_storeu_si256(quads + 1, _mm256_unpackhi_epi16(low[0], low[1]));
    _mm256_storeu_si256(quads + 2, _mm256_unpacklo_epi16(high[0], high[1]));
    _mm256_storeu_si256(quads + 3, _mm256_unpackhi_epi16(high[0], high[1]));
  }
};

// Turned::turn<Rows>(from, to) turns kChannels bytes of up to four rows.
template <class Turned>
class DepthwiseColumns {
 public:
  // scratch[column][quad][channel][4]
  static void gather(const DepthwiseTile& tile) {
    for (std::int64_t q = 0; q < tile.quads(); ++q) {
      switch (tile.kernel_rows - q * 4) {
        case 1:
          turn_columns<1>(tile, q);
          break;
        case 2:
          turn_columns<2>(tile, q);
          break;
        case 3:
          turn_columns<3>(tile, q);
          break;
        default:
          turn_columns<4>(tile, q);
      }
    }
  }

 private:
  template <int Rows>
  static void turn_columns(const DepthwiseTile& tile, std::int64_t quad) {
    constexpr int kWidth = Turned::kChannels;
    const std::int64_t columns = tile.columns();
    const int runs = (tile.blocks * kFilterOutputs + kWidth - 1) / kWidth;
    const std::int64_t step = tile.quads() * kFilterColumns * 4;
    for (int run = 0; run < runs; ++run) {
      const std::uint8_t* const* rows = tile.rows + quad * 4 * tile.row_step;
      const std::int64_t channel = tile.channel + run * kWidth;
      std::uint8_t* to = tile.scratch + (quad * kFilterColumns + run * kWidth) * 4;
      for (std::int64_t x = 0; x < columns; ++x, ++rows, to += step) {
        const std::uint8_t* from[4] = {};
#pragma GCC unroll 4
        for (int y = 0; y < Rows; ++y) from[y] = rows[y * tile.row_step] + channel;
        Turned::template turn<Rows>(from, to);
      }
    }
  }
};

}  // namespace nibble::inline kernels
