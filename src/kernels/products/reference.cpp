// SPDX-License-Identifier: Apache-2.0
// The definition of the int8 product and of its rounding.
#include <algorithm>

#include "kernels/integer_paths.h"

namespace nibble::inline kernels::reference {
namespace {

void multiply(std::span<const ProductTerm> terms, const ProductTile& tile) {
  const std::int64_t columns = tile.column_blocks * std::int64_t{kProductColumns};
  for (std::int64_t r = 0; r < kProductRows; ++r) {
    for (std::int64_t j = 0; j < columns; ++j) {
      std::int32_t& c = tile.c[r * tile.c_stride + j];
      std::int64_t sum = tile.accumulates ? c : 0;
      for (const ProductTerm& term : terms) {
        for (std::int64_t k = 0; k < tile.depth; ++k) {
          sum += term.a[r * tile.a_stride + k] * term.b[k / 4 * tile.b_stride + j * 4 + k % 4];
        }
      }
      c = static_cast<std::int32_t>(sum);
    }
  }
}

TileOutcome requantize(const TileRounding& tile) {
  TileOutcome outcome;
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    for (std::int64_t j = 0; j < tile.columns; ++j) {
      const std::int64_t x = tile.c[r * tile.c_stride + j];
      const std::int64_t magnitude = x < 0 ? -x : x;
      const std::int64_t half = (std::int64_t{1} << tile.shift) / 2;
      const std::int64_t rounded = (magnitude + half) >> tile.shift;
      const std::int64_t clamped = std::min<std::int64_t>(rounded, 127);
      tile.out[r * tile.out_stride + j] = static_cast<std::int8_t>(x < 0 ? -clamped : clamped);
      outcome.max_magnitude =
          std::max(outcome.max_magnitude, static_cast<std::uint32_t>(magnitude));
      outcome.saturated += rounded > 127 ? 1 : 0;
    }
  }
  return outcome;
}

}  // namespace

constinit const ProductKernels kProductKernels = {
    .multiply = multiply, .sums = nullptr, .requantize = requantize, .b_flip = 0};

}  // namespace nibble::inline kernels::reference
