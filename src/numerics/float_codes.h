// SPDX-License-Identifier: Apache-2.0
// The codes of floats of any split, bias and specials, and what they mean.
#pragma once

#include <cmath>
#include <cstdint>

#include "nibble/core/host_device.h"
#include "nibble/numerics/element.h"

namespace nibble::inline numerics::float_codes {

NIBBLE_HOST_DEVICE inline std::uint32_t low_bits(int count) {
  return static_cast<std::uint32_t>((std::uint64_t{1} << count) - 1);
}

// Codes without their sign bit.
NIBBLE_HOST_DEVICE inline std::uint32_t top_magnitude(const FloatElement& f) {
  return low_bits(f.exponent_bits + f.mantissa_bits);
}
NIBBLE_HOST_DEVICE inline std::uint32_t ieee_infinity(const FloatElement& f) {
  return low_bits(f.exponent_bits) << f.mantissa_bits;
}

NIBBLE_HOST_DEVICE inline bool has_infinity(const FloatElement& f) {
  return f.specials == Specials::ieee || f.specials == Specials::p3109;
}
NIBBLE_HOST_DEVICE inline bool has_nan(const FloatElement& f) {
  return f.specials == Specials::ieee ? f.mantissa_bits > 0 : f.specials != Specials::finite;
}
NIBBLE_HOST_DEVICE inline bool nan_takes_minus_zero(const FloatElement& f) {
  return f.is_signed && (f.specials == Specials::fnuz || f.specials == Specials::p3109);
}

NIBBLE_HOST_DEVICE inline std::uint32_t infinity_magnitude(const FloatElement& f) {
  if (f.specials == Specials::ieee) return ieee_infinity(f);
  return top_magnitude(f) - (f.is_signed ? 0 : 1);  // p3109
}

// Largest magnitude code that is a finite number.
NIBBLE_HOST_DEVICE inline std::uint32_t max_magnitude(const FloatElement& f) {
  switch (f.specials) {
    case Specials::ieee:
      return ieee_infinity(f) - 1;
    case Specials::finite:
      return top_magnitude(f);
    case Specials::fn:
      return top_magnitude(f) - 1;
    case Specials::fnuz:
      return top_magnitude(f) - (f.is_signed ? 0 : 1);
    case Specials::p3109:
      return infinity_magnitude(f) - 1;
  }
  return 0;
}

NIBBLE_HOST_DEVICE inline int lowest_exponent(const FloatElement& f) {
  return (f.has_zero ? 1 : 0) - f.bias;
}

NIBBLE_HOST_DEVICE inline double magnitude_value(const FloatElement& f, std::uint32_t magnitude) {
  const int field = static_cast<int>(magnitude >> f.mantissa_bits);
  const std::uint32_t mantissa = magnitude & low_bits(f.mantissa_bits);
  if (field == 0 && f.has_zero) {
    if (!f.has_subnormals) return 0;
    return std::ldexp(static_cast<double>(mantissa), lowest_exponent(f) - f.mantissa_bits);
  }
  const double significand = std::ldexp(1.0, f.mantissa_bits) + mantissa;
  return std::ldexp(significand, field - f.bias - f.mantissa_bits);
}

}  // namespace nibble::inline numerics::float_codes
