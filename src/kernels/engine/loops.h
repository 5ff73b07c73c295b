// SPDX-License-Identifier: Apache-2.0
// Loops of the engine's kernel that compilers make vectors of. `Path` keeps the code of each
// instruction set apart.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/engine/engine_kernels.h"
#include "laws/rescale.h"

namespace nibble::inline kernels {

template <class Path>
struct EngineLoops {
  static void multiply(const FilterTile& tile) {
    const int columns = tile.blocks * kFilterOutputs;
    for (int p = 0; p < tile.pixels; ++p) {
      std::int32_t* sums = tile.sums + p * kFilterColumns;
      std::copy_n(tile.bias, columns, sums);
      const std::int8_t* weights = tile.weights;
      for (std::int64_t t = 0; t < tile.taps; ++t) {
        const std::uint8_t* row = tile.rows[t * tile.pixels + p];
        for (std::int64_t k = 0; k < tile.depth; k += 4, weights += columns * 4) {
          const int x0 = row[k], x1 = row[k + 1], x2 = row[k + 2], x3 = row[k + 3];
          for (int o = 0; o < columns; ++o) {
            const int sum = x0 * weights[o * 4] + x1 * weights[o * 4 + 1] +
                            x2 * weights[o * 4 + 2] + x3 * weights[o * 4 + 3];
            sums[o] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[o]) +
                                                static_cast<std::uint32_t>(sum));
          }
        }
      }
    }
  }

  static void depthwise(const DepthwiseTile& tile) {
    const int channels = tile.blocks * kFilterOutputs;
    for (int p = 0; p < tile.pixels; ++p) {
      std::int32_t* sums = tile.sums + p * kFilterColumns;
      std::copy_n(tile.bias, channels, sums);
      for (std::int64_t x = 0; x < tile.kernel_columns; ++x) {
        const std::uint8_t* const* column = tile.rows + p * tile.stride + x * tile.dilation;
        for (std::int64_t y = 0; y < tile.kernel_rows; ++y) {
          const std::uint8_t* row = column[y * tile.row_step] + tile.channel;
          const std::int8_t* weights =
              tile.weights + (x * tile.quads() + y / 4) * channels * 4 + y % 4;
          for (int c = 0; c < channels; ++c) {
            sums[c] =
                static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[c]) +
                                          static_cast<std::uint32_t>(row[c] * weights[c * 4]));
          }
        }
      }
    }
  }

  static void rescale(const RescaleTile& tile) {
    const FilterAddend& addend = tile.addend;
    alignas(64) std::uint8_t expanded[kFilterColumns];
    alignas(64) std::int32_t results[kFilterColumns];
    alignas(64) std::int32_t largest[kFilterColumns];
    for (std::int64_t p = 0; p < tile.pixels; ++p) {
      const std::int32_t* sums = largest_sums(tile, p, largest);
      const std::uint8_t* data = addend.data + p * addend.stride;
      if (addend.storage == FilterStorage::u4) {
        expand_u4(data, expanded, 1);
        data = expanded;
      }
      const bool has_addend = addend.storage != FilterStorage::none;
      if (tile.is_wide) {
        for (int o = 0; o < tile.columns; ++o) {
          std::int64_t sum = sums[o];
          if (has_addend) {
            sum += rounded_shift(std::int64_t{data[o] - addend.zero} * addend.multiplier[o],
                                 addend.shift);
          }
          const std::int64_t y = rounded_shift(sum * tile.multiplier[o], tile.shift);
          results[o] = static_cast<std::int32_t>(std::clamp<std::int64_t>(y, tile.low, tile.high));
        }
      } else {
        for (int o = 0; o < tile.columns; ++o) {
          std::int32_t sum = sums[o];
          if (has_addend)
            sum += shifted((data[o] - addend.zero) * addend.multiplier[o], addend.shift);
          results[o] =
              std::clamp(shifted(sum * tile.multiplier[o], tile.shift), tile.low, tile.high);
        }
      }
      store(tile, results, static_cast<std::uint8_t*>(tile.out) + p * tile.stride);
    }
  }

  // The sums of pixel p, in `to` where a window has several.
  static const std::int32_t* largest_sums(const RescaleTile& tile, std::int64_t p,
                                          std::int32_t* to) {
    const std::int32_t* sums = tile.sums + p * tile.window * kFilterColumns;
    if (tile.window == 1) return sums;
    std::copy_n(sums, tile.columns, to);
    for (int w = 1; w < tile.window; ++w) {
      const std::int32_t* other = sums + w * kFilterColumns;
      for (int o = 0; o < tile.columns; ++o) to[o] = std::max(to[o], other[o]);
    }
    return to;
  }

  static void expand_s4(const std::uint8_t* from, std::int8_t* to, std::int64_t groups) {
    for (std::int64_t g = 0; g < groups; ++g, from += 64, to += 128) {
      for (int i = 0; i < 64; ++i) {
        to[i] = static_cast<std::int8_t>(((from[i] & 15) ^ 8) - 8);
        to[i + 64] = static_cast<std::int8_t>(((from[i] >> 4) ^ 8) - 8);
      }
    }
  }

  static void expand_u4(const std::uint8_t* from, std::uint8_t* to, std::int64_t groups) {
    for (std::int64_t g = 0; g < groups; ++g, from += 32, to += 64) {
      for (int i = 0; i < 32; ++i) {
        to[i] = from[i] & 15;
        to[i + 32] = from[i] >> 4;
      }
    }
  }

  static void largest_u8(const std::uint8_t* const* rows, int count, std::uint8_t* to,
                         std::int64_t bytes) {
    std::copy_n(rows[0], bytes, to);
    for (int r = 1; r < count; ++r) {
      const std::uint8_t* row = rows[r];
      for (std::int64_t i = 0; i < bytes; ++i) to[i] = std::max(to[i], row[i]);
    }
  }

  static void largest_u4(const std::uint8_t* const* rows, int count, std::uint8_t* to,
                         std::int64_t bytes) {
    std::copy_n(rows[0], bytes, to);
    for (int r = 1; r < count; ++r) {
      const std::uint8_t* row = rows[r];
      for (std::int64_t i = 0; i < bytes; ++i) {
        const std::uint8_t low = std::max<std::uint8_t>(to[i] & 15, row[i] & 15);
        const std::uint8_t high = std::max<std::uint8_t>(to[i] & 240, row[i] & 240);
        to[i] = low | high;
      }
    }
  }

  static void add_u8(const std::uint8_t* const* rows, int count, std::int32_t* to,
                     std::int64_t bytes) {
    for (int r = 0; r < count; ++r) {
      const std::uint8_t* row = rows[r];
      for (std::int64_t i = 0; i < bytes; ++i) to[i] += row[i];
    }
  }

 private:
  // R(x, s) where |x| + 2^(s-1) is below 2^31.
  static std::int32_t shifted(std::int32_t x, int s) {
    const std::int32_t half = s == 0 ? 0 : 1 << (s - 1);
    const std::int32_t magnitude = ((x < 0 ? -x : x) + half) >> s;
    return x < 0 ? -magnitude : magnitude;
  }

  static void store(const RescaleTile& tile, const std::int32_t* results, std::uint8_t* out) {
    if (tile.storage == FilterStorage::s32) {
      std::copy_n(results, tile.columns, reinterpret_cast<std::int32_t*>(out));
    } else if (tile.storage == FilterStorage::u8) {
      for (int o = 0; o < tile.columns; ++o)
        out[o] = static_cast<std::uint8_t>(results[o] + tile.zero);
    } else {
      for (int i = 0; i < 32; ++i) {
        const int low = results[i] + tile.zero;
        const int high = results[i + 32] + tile.zero;
        out[i] = static_cast<std::uint8_t>(low | high << 4);
      }
    }
  }
};

}  // namespace nibble::inline kernels
