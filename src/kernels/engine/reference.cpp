// SPDX-License-Identifier: Apache-2.0
// The definition of the engine's kernel, number by number.
#include <algorithm>
#include <vector>

#include "kernels/integer_paths.h"
#include "laws/rescale.h"

namespace nibble::inline kernels::reference {
namespace {

void multiply(const FilterTile& tile) {
  const std::int64_t columns = tile.blocks * kFilterOutputs;
  for (int p = 0; p < tile.pixels; ++p) {
    for (std::int64_t o = 0; o < columns; ++o) {
      std::int64_t sum = tile.bias[o];
      for (std::int64_t t = 0; t < tile.taps; ++t) {
        const std::uint8_t* row = tile.rows[t * tile.pixels + p];
        for (std::int64_t k = 0; k < tile.depth; ++k) {
          const std::int64_t quad = t * tile.depth / 4 + k / 4;
          sum += row[k] * tile.weights[(quad * columns + o) * 4 + k % 4];
        }
      }
      tile.sums[p * kFilterColumns + o] = static_cast<std::int32_t>(sum);
    }
  }
}

void depthwise(const DepthwiseTile& tile) {
  const std::int64_t channels = tile.blocks * kFilterOutputs;
  for (int p = 0; p < tile.pixels; ++p) {
    for (std::int64_t c = 0; c < channels; ++c) {
      std::int64_t sum = tile.bias[c];
      for (std::int64_t y = 0; y < tile.kernel_rows; ++y) {
        for (std::int64_t x = 0; x < tile.kernel_columns; ++x) {
          const std::int64_t column = p * tile.stride + x * tile.dilation;
          const std::int64_t quad = x * tile.quads() + y / 4;
          sum += tile.rows[y * tile.row_step + column][tile.channel + c] *
                 tile.weights[(quad * channels + c) * 4 + y % 4];
        }
      }
      tile.sums[p * kFilterColumns + c] = static_cast<std::int32_t>(sum);
    }
  }
}

int half_of(const std::uint8_t* data, std::int64_t channel) {
  const std::uint8_t byte = data[channel / 64 * 32 + channel % 32];
  return channel % 64 < 32 ? byte & 15 : byte >> 4;
}

void rescale_tile(const RescaleTile& tile) {
  const FilterAddend& addend = tile.addend;
  for (std::int64_t p = 0; p < tile.pixels; ++p) {
    std::byte* out = static_cast<std::byte*>(tile.out) + p * tile.stride;
    for (std::int64_t o = 0; o < tile.columns; ++o) {
      const std::int32_t* sums = tile.sums + p * tile.window * kFilterColumns + o;
      std::int64_t sum = sums[0];
      for (int w = 1; w < tile.window; ++w)
        sum = std::max<std::int64_t>(sum, sums[w * kFilterColumns]);
      RescaleTerm terms[2] = {{.value = sum}, {}};
      if (addend.storage != FilterStorage::none) {
        const std::uint8_t* data = addend.data + p * addend.stride;
        const int x = addend.storage == FilterStorage::u4 ? half_of(data, o) : data[o];
        terms[1] = {x - addend.zero, addend.multiplier[o], addend.shift};
      }
      const std::int64_t y = rescale(terms, tile.multiplier[o], tile.shift, 0, tile.low, tile.high);
      if (tile.storage == FilterStorage::s32) {
        reinterpret_cast<std::int32_t*>(out)[o] = static_cast<std::int32_t>(y);
      } else if (tile.storage == FilterStorage::u8) {
        out[o] = static_cast<std::byte>(y + tile.zero);
      } else {
        std::byte& both = out[o / 64 * 32 + o % 32];
        const auto half = static_cast<std::byte>(y + tile.zero);
        both = o % 64 < 32 ? (both & std::byte{240}) | half : (both & std::byte{15}) | half << 4;
      }
    }
  }
}

// Byte k of a row of the matrix.
std::int64_t place_in_row(const FilterMatrix& matrix, std::int64_t k) {
  return matrix.runs == nullptr ? k : matrix.runs[k / kFilterRun] + k % kFilterRun;
}

std::int32_t sum_of(const FilterMatrix& matrix, const FilterTile& panel, std::int64_t pixel,
                    std::int64_t o) {
  const std::uint8_t* row = matrix.values + pixel * matrix.stride;
  const std::int8_t* weights =
      panel.weights + (o / 16 * row_bytes(panel.taps, panel.depth) * 16 + o % 16 * 4);
  std::int64_t sum = panel.bias[o];
  for (std::int64_t k = 0; k < panel.taps * panel.depth; ++k)
    sum += row[place_in_row(matrix, k)] * weights[k / 4 * 64 + k % 4];
  return static_cast<std::int32_t>(sum);
}

void multiply_matrix(const FilterMatrix& matrix, const FilterTile& panel,
                     const RescaleTile& rescale) {
  std::vector<std::int32_t> sums(static_cast<std::size_t>(rescale.window * kFilterColumns));
  RescaleTile one = rescale;
  one.sums = sums.data();
  one.pixels = 1;
  for (std::int64_t p = 0; p < matrix.pixels; p += rescale.window) {
    if (!matrix.kept.has(p)) continue;
    for (std::int64_t w = 0; w < rescale.window; ++w) {
      for (std::int64_t o = 0; o < panel.blocks * kFilterOutputs; ++o)
        sums[static_cast<std::size_t>(w * kFilterColumns + o)] = sum_of(matrix, panel, p + w, o);
    }
    rescale_tile(one);
    one.out = static_cast<std::byte*>(one.out) + one.stride;
    one.addend.data += one.addend.stride;
  }
}

void copy_rows(const std::uint8_t* from, std::int64_t from_stride, std::uint8_t* to,
               std::int64_t to_stride, std::int64_t count, std::int64_t bytes) {
  for (std::int64_t r = 0; r < count; ++r)
    std::copy_n(from + r * from_stride, bytes, to + r * to_stride);
}

void expand_s4(const std::uint8_t* from, std::int8_t* to, std::int64_t groups) {
  for (std::int64_t g = 0; g < groups; ++g, from += 64, to += 128) {
    for (int i = 0; i < 64; ++i) {
      to[i] = static_cast<std::int8_t>(((from[i] & 15) ^ 8) - 8);
      to[i + 64] = static_cast<std::int8_t>(((from[i] >> 4) ^ 8) - 8);
    }
  }
}

void expand_u4(const std::uint8_t* from, std::uint8_t* to, std::int64_t groups) {
  for (std::int64_t c = 0; c < groups * 64; ++c)
    to[c] = static_cast<std::uint8_t>(half_of(from, c));
}

void largest_u8(const std::uint8_t* const* rows, int count, std::uint8_t* to, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; ++i) {
    std::uint8_t most = rows[0][i];
    for (int r = 1; r < count; ++r) most = std::max(most, rows[r][i]);
    to[i] = most;
  }
}

void largest_u4(const std::uint8_t* const* rows, int count, std::uint8_t* to, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; ++i) {
    int low = 0;
    int high = 0;
    for (int r = 0; r < count; ++r) {
      low = std::max(low, rows[r][i] & 15);
      high = std::max(high, rows[r][i] >> 4);
    }
    to[i] = static_cast<std::uint8_t>(low | high << 4);
  }
}

void add_u8(const std::uint8_t* const* rows, int count, std::int32_t* to, std::int64_t bytes) {
  for (int r = 0; r < count; ++r) {
    for (std::int64_t i = 0; i < bytes; ++i) to[i] += rows[r][i];
  }
}

}  // namespace

constinit const EngineKernels kEngineKernels = {.multiply = multiply,
                                                .rescale = rescale_tile,
                                                .multiply_matrix = multiply_matrix,
                                                .copy_rows = copy_rows,
                                                .depthwise = depthwise,
                                                .expand_s4 = expand_s4,
                                                .expand_u4 = expand_u4,
                                                .largest_u8 = largest_u8,
                                                .largest_u4 = largest_u4,
                                                .add_u8 = add_u8,
                                                .pixels = {0, 4, 4, 4, 4}};

}  // namespace nibble::inline kernels::reference
