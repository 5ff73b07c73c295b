// SPDX-License-Identifier: Apache-2.0
// Posits (2022 standard, any es): sign, run-length regime, exponent, fraction.
#include "numerics/element_families.h"

#include <cmath>
#include <limits>

#include "nibble/core/error.h"
#include "numerics/element_codes.h"
#include "numerics/round_posit.h"

namespace nibble::inline numerics {
using namespace posit_codes;

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

std::uint32_t encode_element(const PositElement& p, double value) {
  return code_of_value(p, value);
}

double decode_element(const PositElement& p, std::uint32_t code) {
  return value_of_code(p, code);
}

}  // namespace nibble::inline numerics
