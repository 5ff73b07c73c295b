// SPDX-License-Identifier: Apache-2.0
// Posits (2022 standard, any es): sign, run-length regime, exponent, fraction.
#include "numerics/element_posit.h"

#include <cmath>
#include <limits>

#include "nibble/core/error.h"
#include "numerics/cell.h"

namespace nibble {
namespace {

// How the n-1 bits after the sign are spent in the binade 2^E.
struct Fields {
  int regime = 0;     // k = floor(E / 2^es)
  int exponent = 0;   // E - k·2^es
  int rest_bits = 0;  // bits left after the regime for exponent and fraction
};

Fields fields_of(const PositElement& p, int binade) {
  const int regime = binade >> p.exponent_bits;  // arithmetic shift: floor
  const int regime_bits = regime >= 0 ? regime + 2 : 1 - regime;
  return {regime, binade - regime * (1 << p.exponent_bits), p.bits - 1 - regime_bits};
}

double maxpos(const PositElement& p) {
  return std::ldexp(1.0, (p.bits - 2) << p.exponent_bits);
}

// The standard rounds the bit string, so the middle of a cell is the posit of one more bit: the
// arithmetic mean while only fraction bits are cut, a power of two where exponent bits are.
// `magnitude` lies in (minpos, maxpos).
Cell cell_of(const PositElement& p, double magnitude) {
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

}  // namespace

ElementInfo describe_element(const PositElement& p) {
  const int widest_fraction = p.bits - 3 - p.exponent_bits;
  ElementInfo info;
  info.code_bits = p.bits;
  info.max = maxpos(p);
  info.lowest = -maxpos(p);
  info.min_positive = 1 / maxpos(p);
  info.min_normal = info.min_positive;
  info.precision_bits = std::max(widest_fraction, 0) + 1;
  info.has_nan = true;
  info.quantizes_fp32 = (p.bits - 2) << p.exponent_bits <= 126;
  info.decodes_to_fp32 = info.quantizes_fp32 && info.precision_bits <= 24;
  return info;
}

void check_element(const PositElement& p) {
  if (p.bits < 2 || p.bits > 32) {
    throw Error("format", "bits of a posit", std::to_string(p.bits), "2 to 32");
  }
  if (p.exponent_bits < 0 || p.exponent_bits > 3) {
    throw Error("format", "exponent bits of a posit", std::to_string(p.exponent_bits), "0 to 3");
  }
}

double round_element(const PositElement& p, double x, const Rounding& rounding, Overflow,
                     std::uint32_t draw) {
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

std::uint32_t encode_element(const PositElement& p, double value) {
  const std::uint32_t nar = 1U << (p.bits - 1);
  if (std::isnan(value)) return nar;
  if (value == 0) return 0;
  const double magnitude = std::fabs(value);
  std::uint32_t code = 0;
  if (magnitude >= maxpos(p)) {
    code = nar - 1;
  } else {
    const int binade = std::ilogb(magnitude);
    const Fields f = fields_of(p, binade);
    const int fraction_bits = std::max(f.rest_bits - p.exponent_bits, 0);
    const double fraction = magnitude / std::ldexp(1.0, binade) - 1;
    // exponent ‖ fraction, then cut to the bits that are left
    std::uint64_t rest = static_cast<std::uint64_t>(f.exponent) << fraction_bits |
                         static_cast<std::uint64_t>(std::ldexp(fraction, fraction_bits));
    rest >>= std::max(p.exponent_bits - f.rest_bits, 0);
    // Regime k >= 0: k+1 ones and a zero; k < 0: -k zeros and a one.
    const std::uint64_t regime = f.regime >= 0 ? (std::uint64_t{1} << (f.regime + 2)) - 2 : 1;
    code = static_cast<std::uint32_t>(regime << f.rest_bits | rest);
  }
  const std::uint32_t mask = nar | (nar - 1);
  return (value < 0 ? ~code + 1 : code) & mask;
}

double decode_element(const PositElement& p, std::uint32_t code) {
  const std::uint32_t nar = 1U << (p.bits - 1);
  if (code == nar) return std::numeric_limits<double>::quiet_NaN();
  if (code == 0) return 0;
  const std::uint32_t mask = nar | (nar - 1);
  const bool negative = (code & nar) != 0;
  const std::uint32_t magnitude = negative ? (~code + 1) & mask : code;
  int position = p.bits - 2;
  const bool ones = (magnitude >> position & 1) != 0;
  int run = 0;
  while (position >= 0 && ((magnitude >> position & 1) != 0) == ones) ++run, --position;
  --position;  // the bit that ends the run
  const int regime = ones ? run - 1 : -run;
  int exponent = 0;
  for (int i = 0; i < p.exponent_bits; ++i, --position) {
    exponent = 2 * exponent + (position >= 0 ? static_cast<int>(magnitude >> position & 1) : 0);
  }
  double significand = 1;
  if (position >= 0) {
    const std::uint32_t fraction = magnitude & ((2U << position) - 1);
    significand += std::ldexp(static_cast<double>(fraction), -(position + 1));
  }
  const double value = std::ldexp(significand, regime * (1 << p.exponent_bits) + exponent);
  return negative ? -value : value;
}

}  // namespace nibble
