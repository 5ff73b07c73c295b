// SPDX-License-Identifier: Apache-2.0
// Rounding to the entries of a table in ascending order.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "nibble/core/host_device.h"
#include "numerics/cell.h"

namespace nibble::inline numerics {

// Sign of 2x - (low + high), exact whatever the exponents.
NIBBLE_HOST_DEVICE inline int versus_middle(double x, double low, double high) {
  if (subtracts_exactly(low, -high)) return (2 * x > low + high) - (2 * x < low + high);
  ExactSum difference;
  difference.add_product(2, x);
  difference.add(-low);
  difference.add(-high);
  return difference.sign();
}

NIBBLE_HOST_DEVICE inline double round_codebook(const float* values, std::size_t count, double x,
                                                const Rounding& rounding, std::uint32_t draw) {
  // Entries are multiples of 2^-149: nearer to zero only the sign of x counts, and the quire holds
  // it.
  if (x != 0 && std::fabs(x) < 0x1p-200) x = std::copysign(0x1p-200, x);
  // The first entry above x. std::upper_bound is not for GPUs: it asks the compiler for constants.
  std::size_t above = 0;
  for (std::size_t left = count; left > 0;) {
    const std::size_t half = left / 2;
    if (x < values[above + half]) {
      left = half;
    } else {
      above += half + 1;
      left -= half + 1;
    }
  }
  if (above == 0) return values[0];
  if (above == count || values[above - 1] == x) return values[above - 1];
  const bool low_is_odd = ((above - 1) & 1) != 0;
  const double low = values[above - 1];
  const double high = values[above];
  const int middle = versus_middle(x, low, high);
  // `toward` is the neighbour of smaller magnitude, the lower one where both are equally large.
  const Cell cell = std::fabs(low) <= std::fabs(high) ? Cell{low, high, middle, low_is_odd}
                                                      : Cell{high, low, -middle, !low_is_odd};
  return goes_away(cell, x, rounding, draw) ? cell.away : cell.toward;
}

}  // namespace nibble::inline numerics
