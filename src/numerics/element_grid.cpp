// SPDX-License-Identifier: Apache-2.0
// Fixed point and integers: the multiples of a power of two.
#include "numerics/element_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "nibble/core/error.h"
#include "numerics/cell.h"

namespace nibble {

double GridElement::step() const {
  return std::ldexp(1.0, -fraction_bits);
}

double GridElement::lowest_n() const {
  if (!is_signed) return 0;
  return -std::ldexp(1.0, bits - 1) + (is_symmetric ? 1 : 0);
}

double GridElement::highest_n() const {
  return std::ldexp(1.0, bits - (is_signed ? 1 : 0)) - 1;
}

ElementInfo describe_element(const GridElement& g) {
  ElementInfo info;
  info.code_bits = g.bits;
  info.max = g.highest_n() * g.step();
  info.lowest = g.lowest_n() * g.step();
  info.min_positive = g.step();
  info.min_normal = g.step();
  info.precision_bits = g.bits - (g.is_signed ? 1 : 0);
  // n itself has to fit 24 bits; unclamped, an fp32 value only ever loses bits.
  const bool range_fits =
      g.fraction_bits <= 149 && info.max <= static_cast<double>(std::numeric_limits<float>::max());
  info.decodes_to_fp32 = range_fits && info.precision_bits <= 24;
  info.quantizes_fp32 = range_fits && (info.precision_bits <= 24 || !g.clamps);
  return info;
}

void check_element(const GridElement& g) {
  const int least = g.is_integer ? 2 : 1;
  const int most = g.is_integer ? 16 : 32;
  if (g.bits < least || g.bits > most) {
    throw Error("format",
                g.is_integer ? "bits of an integer" : "word length of a fixed-point format",
                std::to_string(g.bits), std::to_string(least) + " to " + std::to_string(most));
  }
  if (g.fraction_bits < -126 || g.fraction_bits > 149) {
    throw Error("format", "fraction length of a fixed-point format",
                std::to_string(g.fraction_bits), "-126 to 149");
  }
  if (g.highest_n() == 0 && g.is_symmetric) {
    throw Error("format", "a symmetric fixed-point format of one bit holds only zero");
  }
}

double round_element(const GridElement& g, double x, const Rounding& rounding, Overflow,
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

std::uint32_t encode_element(const GridElement& g, double value) {
  if (std::isnan(value)) throw Error("encode", "NaN in an element without a NaN code");
  const double n = value / g.step();
  if (n < g.lowest_n() || n > g.highest_n()) {
    throw Error("encode", "value beyond the word length", std::to_string(value),
                std::to_string(g.bits) + " bits");
  }
  const auto code = static_cast<std::uint32_t>(static_cast<std::int64_t>(n));
  return g.bits == 32 ? code : code & ((1U << g.bits) - 1);
}

double decode_element(const GridElement& g, std::uint32_t code) {
  double n = code;
  if (g.is_signed && (code >> (g.bits - 1)) != 0) n -= std::ldexp(1.0, g.bits);
  return n * g.step();
}

}  // namespace nibble
