// SPDX-License-Identifier: Apache-2.0
// Floats of any split, bias and specials.
#include "numerics/element_float.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "nibble/core/error.h"
#include "numerics/cell.h"

namespace nibble {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::uint32_t low_bits(int count) {
  return static_cast<std::uint32_t>((std::uint64_t{1} << count) - 1);
}

// Codes without their sign bit.
std::uint32_t top_magnitude(const FloatElement& f) {
  return low_bits(f.exponent_bits + f.mantissa_bits);
}
std::uint32_t ieee_infinity(const FloatElement& f) {
  return low_bits(f.exponent_bits) << f.mantissa_bits;
}

bool has_infinity(const FloatElement& f) {
  return f.specials == Specials::ieee || f.specials == Specials::p3109;
}
bool has_nan(const FloatElement& f) {
  return f.specials == Specials::ieee ? f.mantissa_bits > 0 : f.specials != Specials::finite;
}
bool nan_takes_minus_zero(const FloatElement& f) {
  return f.is_signed && (f.specials == Specials::fnuz || f.specials == Specials::p3109);
}

std::uint32_t infinity_magnitude(const FloatElement& f) {
  if (f.specials == Specials::ieee) return ieee_infinity(f);
  return top_magnitude(f) - (f.is_signed ? 0 : 1);  // p3109
}

// Largest magnitude code that is a finite number.
std::uint32_t max_magnitude(const FloatElement& f) {
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

int lowest_exponent(const FloatElement& f) {
  return (f.has_zero ? 1 : 0) - f.bias;
}

double magnitude_value(const FloatElement& f, std::uint32_t magnitude) {
  const int field = static_cast<int>(magnitude >> f.mantissa_bits);
  const std::uint32_t mantissa = magnitude & low_bits(f.mantissa_bits);
  if (field == 0 && f.has_zero) {
    if (!f.has_subnormals) return 0;
    return std::ldexp(static_cast<double>(mantissa), lowest_exponent(f) - f.mantissa_bits);
  }
  const double significand = std::ldexp(1.0, f.mantissa_bits) + mantissa;
  return std::ldexp(significand, field - f.bias - f.mantissa_bits);
}

Cell cell_of(const FloatElement& f, double magnitude) {
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

double min_positive(const FloatElement& f) {
  if (!f.has_zero) return magnitude_value(f, 0);
  return magnitude_value(
      f, f.has_subnormals && f.mantissa_bits > 0 ? 1 : std::uint32_t{1} << f.mantissa_bits);
}

bool saturates(const FloatElement& f, Overflow overflow) {
  if (overflow != Overflow::native) return overflow == Overflow::saturate;
  return !has_infinity(f) || describe_element(f).code_bits <= 8;
}

// What a finite value beyond the largest becomes. A directed rounding stops at the largest value
// where it points inward, as IEEE 754 has it.
double overflow_result(const FloatElement& f, bool negative, RoundingMode mode, Overflow overflow) {
  const bool points_inward = mode == RoundingMode::toward_zero ||
                             (mode == RoundingMode::up && negative) ||
                             (mode == RoundingMode::down && !negative);
  double magnitude = kInfinity;
  if (saturates(f, overflow) || points_inward)
    magnitude = magnitude_value(f, max_magnitude(f));
  else if (overflow == Overflow::nan)
    return kNaN;
  return negative ? -magnitude : magnitude;
}

// An unsigned element holds nothing below its smallest value.
double below_range(const FloatElement& f, Overflow overflow) {
  if (overflow == Overflow::nan) return kNaN;
  return f.has_zero ? 0 : magnitude_value(f, 0);
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

double round_element(const FloatElement& f, double x, const Rounding& rounding, Overflow overflow,
                     std::uint32_t draw) {
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

std::uint32_t encode_element(const FloatElement& f, double value) {
  const int magnitude_bits = f.exponent_bits + f.mantissa_bits;
  const std::uint32_t sign_bit = f.is_signed ? std::uint32_t{1} << magnitude_bits : 0;
  if (std::isnan(value)) {
    if (!has_nan(f)) throw Error("encode", "NaN in an element without a NaN code");
    if (nan_takes_minus_zero(f)) return sign_bit;
    if (f.specials == Specials::ieee) return ieee_infinity(f) | (1U << (f.mantissa_bits - 1));
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

double decode_element(const FloatElement& f, std::uint32_t code) {
  const int magnitude_bits = f.exponent_bits + f.mantissa_bits;
  const std::uint32_t magnitude = code & low_bits(magnitude_bits);
  const bool negative = f.is_signed && (code >> magnitude_bits) != 0;
  if (nan_takes_minus_zero(f) && negative && magnitude == 0) return kNaN;
  if (has_infinity(f) && magnitude == infinity_magnitude(f))
    return negative ? -kInfinity : kInfinity;
  if (magnitude > max_magnitude(f)) return kNaN;
  const double value = magnitude_value(f, magnitude);
  if (value == 0 && nan_takes_minus_zero(f)) return 0;  // a code that subnormals=off leaves unused
  return negative ? -value : value;
}

}  // namespace nibble
