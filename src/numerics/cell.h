// SPDX-License-Identifier: Apache-2.0
// The one rounding decision that every element shares.
#pragma once

#include <cstdint>

#include "nibble/numerics/rounding.h"

namespace nibble {

// The neighbours of a value in a set of numbers: `toward` on the side of zero, `away` on the other.
struct Cell {
  double toward = 0;
  double away = 0;
  int versus_middle = 0;  // the value compared with the middle of the cell: -1, 0, +1
  bool toward_is_odd = false;
};

// Whether x, strictly inside the cell, moves to `away`.
bool goes_away(const Cell& cell, double x, const Rounding& rounding, std::uint32_t draw);

// The cell of multiples of `step` that holds the magnitude; step is a power of two and
// magnitude / step < 2^53.
Cell uniform_cell(double magnitude, double step);

}  // namespace nibble
