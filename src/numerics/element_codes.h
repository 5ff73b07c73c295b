// SPDX-License-Identifier: Apache-2.0
// Codes of elements and back, unchecked: the value is one of the element's, the code has its bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "nibble/core/host_device.h"
#include "nibble/numerics/element.h"
#include "numerics/float_codes.h"
#include "numerics/round_posit.h"

namespace nibble::inline numerics {

NIBBLE_HOST_DEVICE inline std::uint32_t code_of_value(const FloatElement& f, double value) {
  using namespace float_codes;
  const int magnitude_bits = f.exponent_bits + f.mantissa_bits;
  const std::uint32_t sign_bit = f.is_signed ? std::uint32_t{1} << magnitude_bits : 0;
  if (std::isnan(value)) {
    if (nan_takes_minus_zero(f)) return sign_bit;
    if (f.specials == Specials::ieee) {
      return ieee_infinity(f) | (f.mantissa_bits > 0 ? 1U << (f.mantissa_bits - 1) : 0);
    }
    return top_magnitude(f);
  }
  const std::uint32_t sign = std::signbit(value) ? sign_bit : 0;
  if (std::isinf(value)) return sign | infinity_magnitude(f);
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return nan_takes_minus_zero(f) ? 0 : sign;
  const int exponent = std::max(std::ilogb(magnitude), lowest_exponent(f));
  const auto significand =
      static_cast<std::uint32_t>(std::ldexp(magnitude, f.mantissa_bits - exponent));
  // The hidden bit of the significand adds the one that the exponent field lacks.
  const auto field = static_cast<std::uint32_t>(exponent + f.bias - 1);
  return sign | ((field << f.mantissa_bits) + significand);
}

NIBBLE_HOST_DEVICE inline double value_of_code(const FloatElement& f, std::uint32_t code) {
  using namespace float_codes;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const int magnitude_bits = f.exponent_bits + f.mantissa_bits;
  const std::uint32_t magnitude = code & low_bits(magnitude_bits);
  const bool negative = f.is_signed && (code >> magnitude_bits) != 0;
  if (nan_takes_minus_zero(f) && negative && magnitude == 0) return kNaN;
  if (has_infinity(f) && magnitude == infinity_magnitude(f)) {
    return negative ? -kInfinity : kInfinity;
  }
  if (magnitude > max_magnitude(f)) return kNaN;
  const double value = magnitude_value(f, magnitude);
  if (value == 0 && nan_takes_minus_zero(f)) return 0;  // a code that subnormals=off leaves unused
  return negative ? -value : value;
}

NIBBLE_HOST_DEVICE inline std::uint32_t code_of_value(const GridElement& g, double value) {
  const double n = value / g.step();
  const auto code = static_cast<std::uint32_t>(static_cast<std::int64_t>(n));
  return g.bits == 32 ? code : code & ((1U << g.bits) - 1);
}

NIBBLE_HOST_DEVICE inline double value_of_code(const GridElement& g, std::uint32_t code) {
  double n = code;
  if (g.is_signed && (code >> (g.bits - 1)) != 0) n -= std::ldexp(1.0, g.bits);
  return n * g.step();
}

NIBBLE_HOST_DEVICE inline std::uint32_t code_of_value(const PositElement& p, double value) {
  using namespace posit_codes;
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

NIBBLE_HOST_DEVICE inline double value_of_code(const PositElement& p, std::uint32_t code) {
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

}  // namespace nibble::inline numerics
