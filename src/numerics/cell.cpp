// SPDX-License-Identifier: Apache-2.0
// The one rounding decision that every element shares.
#include "numerics/cell.h"

#include <cmath>

#include "nibble/numerics/quire.h"

namespace nibble {
namespace {

bool is_power_of_two(double x) {
  int exponent = 0;
  return std::frexp(x, &exponent) == 0.5;
}

// Whether a - b is a double: the rounding error of the difference, which is one itself, is zero.
bool subtracts_exactly(double a, double b) {
  const double difference = a - b;
  const double b_kept = a - difference;
  return (a - (difference + b_kept)) + (b_kept - b) == 0;
}

// draw < floor(f·2^r) with f = (x - toward) / (away - toward), that is
// 2^r·|x - toward| >= (draw + 1)·|away - toward|, decided without rounding.
bool draws_away(const Cell& cell, double x, int random_bits, std::uint32_t draw) {
  const double steps = static_cast<double>(draw) + 1.0;
  const double scale = std::ldexp(1.0, random_bits);
  const double width = std::fabs(cell.away - cell.toward);
  if (is_power_of_two(width) && subtracts_exactly(cell.away, cell.toward) &&
      subtracts_exactly(x, cell.toward)) {
    return scale * std::fabs(x - cell.toward) >= steps * width;
  }
  Quire difference;
  difference.add_product(scale, x);
  difference.add_product(-scale, cell.toward);
  difference.add_product(-steps, cell.away);
  difference.add_product(steps, cell.toward);
  return cell.away > cell.toward ? difference.sign() >= 0 : difference.sign() <= 0;
}

}  // namespace

bool goes_away(const Cell& cell, double x, const Rounding& rounding, std::uint32_t draw) {
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

Cell uniform_cell(double magnitude, double step) {
  const double n = std::floor(magnitude / step);
  const double rest = magnitude / step - n;
  return {.toward = n * step,
          .away = (n + 1) * step,
          .versus_middle = (rest > 0.5) - (rest < 0.5),
          .toward_is_odd = std::fmod(n, 2.0) != 0};
}

}  // namespace nibble
