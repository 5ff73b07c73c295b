// SPDX-License-Identifier: Apache-2.0
// Rounding to posits (2022 standard, any es).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "nibble/core/host_device.h"
#include "nibble/numerics/element.h"
#include "numerics/cell.h"

namespace nibble::inline numerics {
namespace posit_codes {

// How the n-1 bits after the sign are spent in the binade 2^E.
struct Fields {
  int regime = 0;     // k = floor(E / 2^es)
  int exponent = 0;   // E - k·2^es
  int rest_bits = 0;  // bits left after the regime for exponent and fraction
};

NIBBLE_HOST_DEVICE inline Fields fields_of(const PositElement& p, int binade) {
  const int regime = binade >> p.exponent_bits;  // arithmetic shift: floor
  const int regime_bits = regime >= 0 ? regime + 2 : 1 - regime;
  return {regime, binade - regime * (1 << p.exponent_bits), p.bits - 1 - regime_bits};
}

NIBBLE_HOST_DEVICE inline double maxpos(const PositElement& p) {
  return std::ldexp(1.0, (p.bits - 2) << p.exponent_bits);
}

// The standard rounds the bit string, so the middle of a cell is the posit of one more bit: the
// arithmetic mean while only fraction bits are cut, a power of two where exponent bits are.
// `magnitude` lies in (minpos, maxpos).
NIBBLE_HOST_DEVICE inline Cell cell_of(const PositElement& p, double magnitude) {
  const int binade = std::ilogb(magnitude);
  const Fields f = fields_of(p, binade);
  const int fraction_bits = f.rest_bits - p.exponent_bits;
  Cell cell;
  if (fraction_bits >= 0) {
    cell = uniform_cell(magnitude, std::ldexp(1.0, binade - fraction_bits));
  } else {
    const int cut = -fraction_bits;  // exponent bits that do not fit
    const int kept = f.exponent >> cut;
    const int base = binade - f.exponent + kept * (1 << cut);
    const double middle = std::ldexp(1.0, base + (1 << (cut - 1)));
    cell = {.toward = std::ldexp(1.0, base),
            .away = std::ldexp(1.0, base + (1 << cut)),
            .versus_middle = (magnitude > middle) - (magnitude < middle),
            .toward_is_odd = (kept & 1) != 0};
  }
  // Where no fraction bit is left, the last bit of the code belongs to the exponent or the regime.
  if (f.rest_bits == 0) {
    cell.toward_is_odd = f.regime < 0;
  } else if (fraction_bits == 0) {
    cell.toward_is_odd = (f.exponent & 1) != 0;
  }
  return cell;
}

}  // namespace posit_codes

NIBBLE_HOST_DEVICE inline double round_element(const PositElement& p, double x,
                                               const Rounding& rounding, Overflow,
                                               std::uint32_t draw) {
  using namespace posit_codes;
  if (std::isinf(x)) return std::numeric_limits<double>::quiet_NaN();  // NaR
  if (x == 0) return 0.0;
  const double magnitude = std::fabs(x);
  const double sign = x < 0 ? -1 : 1;
  // Never to zero, never beyond the largest, whatever the rounding.
  if (magnitude >= maxpos(p)) return sign * maxpos(p);
  if (magnitude <= 1 / maxpos(p)) return sign / maxpos(p);
  Cell cell = cell_of(p, magnitude);
  if (magnitude == cell.toward) return x;
  cell.toward *= sign;
  cell.away *= sign;
  return goes_away(cell, x, rounding, draw) ? cell.away : cell.toward;
}

}  // namespace nibble::inline numerics
