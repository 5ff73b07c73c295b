// SPDX-License-Identifier: Apache-2.0
// Fixed point and integers: the multiples of a power of two.
#include "numerics/element_families.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "nibble/core/error.h"
#include "numerics/element_codes.h"

namespace nibble::inline numerics {

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

std::uint32_t encode_element(const GridElement& g, double value) {
  if (std::isnan(value)) throw Error("encode", "NaN in an element without a NaN code");
  const double n = value / g.step();
  if (n < g.lowest_n() || n > g.highest_n()) {
    throw Error("encode", "value beyond the word length", std::to_string(value),
                std::to_string(g.bits) + " bits");
  }
  return code_of_value(g, value);
}

double decode_element(const GridElement& g, std::uint32_t code) {
  return value_of_code(g, code);
}

}  // namespace nibble::inline numerics
