// SPDX-License-Identifier: Apache-2.0
// Rounding to floats of any split, bias and specials.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "nibble/core/host_device.h"
#include "nibble/numerics/element.h"
#include "numerics/cell.h"
#include "numerics/float_codes.h"

namespace nibble::inline numerics {
namespace float_codes {

NIBBLE_HOST_DEVICE inline Cell cell_of(const FloatElement& f, double magnitude) {
  const int lowest = lowest_exponent(f);
  if (!f.has_subnormals && magnitude < std::ldexp(1.0, lowest)) {
    const double half = std::ldexp(0.5, lowest);
    return {.toward = 0,
            .away = std::ldexp(1.0, lowest),
            .versus_middle = (magnitude > half) - (magnitude < half),
            .toward_is_odd = false};
  }
  const int exponent = std::max(std::ilogb(magnitude), lowest);
  Cell cell = uniform_cell(magnitude, std::ldexp(1.0, exponent - f.mantissa_bits));
  // Without a mantissa the last bit of a code is the last bit of its exponent.
  if (f.mantissa_bits == 0) {
    cell.toward_is_odd = cell.toward != 0 && ((exponent + f.bias) & 1) != 0;
  }
  return cell;
}

NIBBLE_HOST_DEVICE inline bool saturates(const FloatElement& f, Overflow overflow) {
  if (overflow != Overflow::native) return overflow == Overflow::saturate;
  return !has_infinity(f) || f.exponent_bits + f.mantissa_bits + (f.is_signed ? 1 : 0) <= 8;
}

// What a finite value beyond the largest becomes. A directed rounding stops at the largest value
// where it points inward, as IEEE 754 has it.
NIBBLE_HOST_DEVICE inline double overflow_result(const FloatElement& f, bool negative,
                                                 RoundingMode mode, Overflow overflow) {
  const bool points_inward = mode == RoundingMode::toward_zero ||
                             (mode == RoundingMode::up && negative) ||
                             (mode == RoundingMode::down && !negative);
  double magnitude = std::numeric_limits<double>::infinity();
  if (saturates(f, overflow) || points_inward)
    magnitude = magnitude_value(f, max_magnitude(f));
  else if (overflow == Overflow::nan)
    return std::numeric_limits<double>::quiet_NaN();
  return negative ? -magnitude : magnitude;
}

// An unsigned element holds nothing below its smallest value.
NIBBLE_HOST_DEVICE inline double below_range(const FloatElement& f, Overflow overflow) {
  if (overflow == Overflow::nan) return std::numeric_limits<double>::quiet_NaN();
  return f.has_zero ? 0 : magnitude_value(f, 0);
}

}  // namespace float_codes

NIBBLE_HOST_DEVICE inline double round_element(const FloatElement& f, double x,
                                               const Rounding& rounding, Overflow overflow,
                                               std::uint32_t draw) {
  using namespace float_codes;
  const bool negative = std::signbit(x);
  if (negative && !f.is_signed && x != 0) return below_range(f, overflow);
  if (std::isinf(x)) {
    // Infinity is no rounding: only saturation or the NaN policy changes it.
    return overflow_result(f, negative, RoundingMode::nearest_even, overflow);
  }
  double magnitude = std::fabs(x);
  if (!f.has_zero && magnitude < magnitude_value(f, 0)) return magnitude_value(f, 0);
  if (magnitude > 2 * magnitude_value(f, max_magnitude(f))) {
    return overflow_result(f, negative, rounding.mode,
                           overflow);  // past the cell above the largest
  }
  if (magnitude != 0) {
    const Cell cell = cell_of(f, magnitude);
    if (magnitude != cell.toward) {
      const double sign = negative ? -1 : 1;
      const Cell with_sign = {.toward = sign * cell.toward,
                              .away = sign * cell.away,
                              .versus_middle = cell.versus_middle,
                              .toward_is_odd = cell.toward_is_odd};
      magnitude = goes_away(with_sign, x, rounding, draw) ? cell.away : cell.toward;
    }
    if (magnitude > magnitude_value(f, max_magnitude(f))) {
      return overflow_result(f, negative, rounding.mode, overflow);
    }
  }
  if (magnitude == 0 && (nan_takes_minus_zero(f) || !f.is_signed)) return 0.0;
  return negative ? -magnitude : magnitude;
}

}  // namespace nibble::inline numerics
