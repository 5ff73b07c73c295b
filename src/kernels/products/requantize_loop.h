// SPDX-License-Identifier: Apache-2.0
// The rounding of a tile as a loop that compilers make vectors of; Path keeps the copies of the
// instruction sets apart.
#pragma once

#include <cstdint>

#include "kernels/products/product_kernels.h"

namespace nibble::inline kernels {

template <class Path>
TileOutcome requantize_rows(const TileRounding& tile) {
  const int shift = tile.shift;
  const std::int64_t columns = tile.columns;
  const std::uint32_t half = shift == 0 ? 0 : 1U << (shift - 1);
  std::uint32_t largest = 0;
  std::uint32_t saturated = 0;
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const std::int32_t* __restrict c = tile.c + r * tile.c_stride;
    std::int8_t* __restrict out = tile.out + r * tile.out_stride;
    for (std::int64_t j = 0; j < columns; ++j) {
      const auto x = static_cast<std::uint32_t>(c[j]);
      const std::uint32_t sign = 0U - (x >> 31);  // all bits where negative
      const std::uint32_t magnitude = (x ^ sign) - sign;
      largest = largest > magnitude ? largest : magnitude;
      const std::uint32_t rounded = (magnitude + half) >> shift;  // below 2^32 before the shift
      saturated += rounded > 127 ? 1U : 0U;
      const std::uint32_t clamped = rounded > 127 ? 127U : rounded;
      out[j] = static_cast<std::int8_t>((clamped ^ sign) - sign);
    }
  }
  return {.max_magnitude = largest, .saturated = saturated};
}

}  // namespace nibble::inline kernels
