// SPDX-License-Identifier: Apache-2.0
// Floats of any split, bias and specials.
#include "numerics/element_families.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "nibble/core/error.h"
#include "numerics/element_codes.h"
#include "numerics/float_codes.h"

namespace nibble::inline numerics {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

using namespace float_codes;

double min_positive(const FloatElement& f) {
  if (!f.has_zero) return magnitude_value(f, 0);
  return magnitude_value(
      f, f.has_subnormals && f.mantissa_bits > 0 ? 1 : std::uint32_t{1} << f.mantissa_bits);
}

}  // namespace

ElementInfo describe_element(const FloatElement& f) {
  const double max = magnitude_value(f, max_magnitude(f));
  const int lowest_bit = lowest_exponent(f) - f.mantissa_bits;
  ElementInfo info;
  info.code_bits = f.exponent_bits + f.mantissa_bits + (f.is_signed ? 1 : 0);
  info.max = max;
  info.lowest = f.is_signed ? -max : (f.has_zero ? 0 : magnitude_value(f, 0));
  info.min_positive = min_positive(f);
  info.min_normal = std::ldexp(1.0, lowest_exponent(f));
  info.precision_bits = f.mantissa_bits + 1;
  info.has_infinity = has_infinity(f);
  info.has_nan = has_nan(f);
  info.has_zero = f.has_zero;
  info.has_negative_zero = f.is_signed && !nan_takes_minus_zero(f);
  info.decodes_to_fp32 =
      lowest_bit >= -149 && max <= static_cast<double>(std::numeric_limits<float>::max());
  info.quantizes_fp32 = info.decodes_to_fp32;
  return info;
}

void check_element(const FloatElement& f) {
  const auto in_range = [](const char* what, int got, int low, int high) {
    if (got < low || got > high) {
      throw Error("format", what, std::to_string(got),
                  std::to_string(low) + " to " + std::to_string(high));
    }
  };
  in_range("exponent bits of a float", f.exponent_bits, 1, 8);
  in_range("mantissa bits of a float", f.mantissa_bits, 0, 23);
  in_range("bias of a float", f.bias, -256, 512);
  if (!f.is_signed && (f.specials == Specials::ieee || f.specials == Specials::fnuz)) {
    throw Error("format", "specials of an unsigned float", "ieee or fnuz", "finite, fn or p3109");
  }
  if (f.is_signed && !f.has_zero) {
    throw Error("format", "a signed float without zero", "nozero", "unsigned beside it");
  }
  const std::uint32_t reserved = top_magnitude(f) - max_magnitude(f);
  if (reserved > top_magnitude(f) || !(magnitude_value(f, max_magnitude(f)) > 0)) {
    throw Error("format", "a float with no finite value other than zero",
                std::to_string(f.exponent_bits) + " exponent and " +
                    std::to_string(f.mantissa_bits) + " mantissa bits",
                "more bits or fewer specials");
  }
}

std::uint32_t encode_element(const FloatElement& f, double value) {
  if (std::isnan(value) && !has_nan(f))
    throw Error("encode", "NaN in an element without a NaN code");
  return code_of_value(f, value);
}

double decode_element(const FloatElement& f, std::uint32_t code) {
  return value_of_code(f, code);
}

}  // namespace nibble::inline numerics
