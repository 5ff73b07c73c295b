// SPDX-License-Identifier: Apache-2.0
// Rounding to fixed point and integers: the multiples of a power of two.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "nibble/core/host_device.h"
#include "nibble/numerics/element.h"
#include "numerics/cell.h"

namespace nibble::inline numerics {

NIBBLE_HOST_DEVICE inline double round_element(const GridElement& g, double x,
                                               const Rounding& rounding, Overflow,
                                               std::uint32_t draw) {
  const double step = g.step();
  if (g.clamps) {
    x = std::clamp(x, g.lowest_n() * step, g.highest_n() * step);
  } else if (std::isinf(x)) {
    return x;
  }
  const double magnitude = std::fabs(x);
  const double sign = std::signbit(x) ? -1 : 1;
  if (magnitude / step >= 0x1p52) return x;
  Cell cell = uniform_cell(magnitude, step);
  if (magnitude != cell.toward) {
    cell.toward *= sign;
    cell.away *= sign;
    x = goes_away(cell, x, rounding, draw) ? cell.away : cell.toward;
  }
  return x + 0.0;  // one zero: -0 becomes +0
}

}  // namespace nibble::inline numerics
