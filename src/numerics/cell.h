// SPDX-License-Identifier: Apache-2.0
// The one rounding decision that every element shares.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "nibble/core/host_device.h"
#include "nibble/numerics/rounding.h"
#include "numerics/exact_sum.h"

namespace nibble::inline numerics {

// The neighbours of a value in a set of numbers: `toward` on the side of zero, `away` on the other.
struct Cell {
  double toward = 0;
  double away = 0;
  int versus_middle = 0;  // the value compared with the middle of the cell: -1, 0, +1
  bool toward_is_odd = false;
};

// Whether a - b is a double: the rounding error of the difference, which is one itself, is zero.
NIBBLE_HOST_DEVICE inline bool subtracts_exactly(double a, double b) {
  const double difference = a - b;
  const double b_kept = a - difference;
  return (a - (difference + b_kept)) + (b_kept - b) == 0;
}

// draw < floor(f·2^r) with f = (x - toward) / (away - toward), that is
// 2^r·|x - toward| >= (draw + 1)·|away - toward|, decided without rounding.
NIBBLE_HOST_DEVICE inline bool draws_away(const Cell& cell, double x, int random_bits,
                                          std::uint32_t draw) {
  const double steps = static_cast<double>(draw) + 1.0;
  const double scale = std::ldexp(1.0, random_bits);
  const double width = std::fabs(cell.away - cell.toward);
  // 21 bits times 32 fit a double.
  const bool is_short = (std::bit_cast<std::uint64_t>(width) & 0xFFFFFFFF) == 0;
  if (is_short && subtracts_exactly(cell.away, cell.toward) && subtracts_exactly(x, cell.toward)) {
    return scale * std::fabs(x - cell.toward) >= steps * width;
  }
  ExactSum difference;
  difference.add_product(scale, x);
  difference.add_product(-scale, cell.toward);
  difference.add_product(-steps, cell.away);
  difference.add_product(steps, cell.toward);
  return cell.away > cell.toward ? difference.sign() >= 0 : difference.sign() <= 0;
}

// Whether x, strictly inside the cell, moves to `away`.
NIBBLE_HOST_DEVICE inline bool goes_away(const Cell& cell, double x, const Rounding& rounding,
                                         std::uint32_t draw) {
  const bool away_is_up = cell.away > cell.toward;
  switch (rounding.mode) {
    case RoundingMode::nearest_even:
      return cell.versus_middle > 0 || (cell.versus_middle == 0 && cell.toward_is_odd);
    case RoundingMode::nearest_away:
      return cell.versus_middle >= 0;
    case RoundingMode::toward_zero:
      return false;
    case RoundingMode::up:
      return away_is_up;
    case RoundingMode::down:
      return !away_is_up;
    case RoundingMode::to_odd:
      return !cell.toward_is_odd;
    case RoundingMode::stochastic:
      return draws_away(cell, x, rounding.random_bits, draw);
  }
  return false;
}

// The cell of multiples of `step` that holds the magnitude; step is a power of two and
// magnitude / step < 2^53.
NIBBLE_HOST_DEVICE inline Cell uniform_cell(double magnitude, double step) {
  const double n = std::floor(magnitude / step);
  const double rest = magnitude / step - n;
  return {.toward = n * step,
          .away = (n + 1) * step,
          .versus_middle = (rest > 0.5) - (rest < 0.5),
          .toward_is_odd = (static_cast<std::int64_t>(n) & 1) != 0};
}

}  // namespace nibble::inline numerics
