// SPDX-License-Identifier: Apache-2.0
// For tests: the numbers of a float by the definition of its codes, and the floats worth testing.
#pragma once

#include <algorithm>
#include <vector>

#include "nibble/core/error.h"
#include "numerics/test_number_line.h"

namespace nibble::inline numerics {

struct FloatLine {
  FloatElement f;
  int magnitude_bits = 0;
  int code_bits = 0;
  std::uint32_t finite_codes = 0;  // of one sign

  explicit FloatLine(const FloatElement& element)
      : f(element),
        magnitude_bits(f.exponent_bits + f.mantissa_bits),
        code_bits(magnitude_bits + (f.is_signed ? 1 : 0)),
        finite_codes((std::uint32_t{1} << magnitude_bits) - reserved_codes()) {}

  std::uint32_t reserved_codes() const {
    switch (f.specials) {
      case Specials::ieee:
        return std::uint32_t{1} << f.mantissa_bits;
      case Specials::finite:
        return 0;
      case Specials::fn:
        return 1;
      case Specials::fnuz:
        return f.is_signed ? 0 : 1;
      case Specials::p3109:
        return f.is_signed ? 1 : 2;
    }
    return 0;
  }

  bool nan_is_minus_zero() const {
    return f.is_signed && (f.specials == Specials::fnuz || f.specials == Specials::p3109);
  }
  bool has_infinity() const {
    return f.specials == Specials::ieee || f.specials == Specials::p3109;
  }

  // The number a magnitude stands for if no code is reserved, also one step past the largest.
  double plain_value(std::uint32_t magnitude) const {
    const auto unit = static_cast<double>(std::uint32_t{1} << f.mantissa_bits);
    const double fraction = static_cast<double>(magnitude % (1U << f.mantissa_bits)) / unit;
    const auto field = static_cast<int>(magnitude >> f.mantissa_bits);
    if (field > 0 || !f.has_zero) return (1 + fraction) * std::exp2(field - f.bias);
    return f.has_subnormals ? fraction * std::exp2(1 - f.bias) : 0;
  }

  double value_of(std::uint32_t code) const {
    const std::uint32_t magnitude = code & ((std::uint32_t{1} << magnitude_bits) - 1);
    const bool negative = code != magnitude;
    if (negative && magnitude == 0 && nan_is_minus_zero()) return std::nan("");
    double value = std::nan("");
    if (magnitude < finite_codes)
      value = plain_value(magnitude);
    else if (has_infinity() && magnitude == finite_codes)
      value = kInfinity;
    if (value == 0 && nan_is_minus_zero()) return 0;
    return negative ? -value : value;
  }

  double max() const { return plain_value(finite_codes - 1); }

  // The gaps above zero, the one past the largest value included: there overflow starts.
  std::vector<Gap> gaps(double overflow_result) const {
    std::vector<LinePoint> places;
    for (std::uint32_t code = 0; code < finite_codes; ++code) {
      const double value = plain_value(code);
      if (code > 0 && value == 0) continue;
      places.push_back({value, code, value});
    }
    places.push_back({plain_value(finite_codes), finite_codes, overflow_result});
    std::vector<Gap> gaps;
    for (std::size_t i = 0; i + 1 < places.size(); ++i) {
      gaps.push_back({places[i], places[i + 1], (places[i].value + places[i + 1].value) / 2});
    }
    return gaps;
  }
};

inline Gap mirrored(const Gap& gap) {
  const auto negated = [](const LinePoint& p) { return LinePoint{-p.value, p.code, -p.result}; };
  return {negated(gap.high), negated(gap.low), -gap.middle};
}

// Every float whose exponent and mantissa have at most `bits` bits: all specials, both
// signednesses, with and without subnormals, two biases.
inline std::vector<FloatElement> floats_up_to(int bits) {
  std::vector<FloatElement> list;
  for (int e = 1; e <= std::min(bits, 8); ++e) {
    for (int variant = 0; variant < 5 * 8 * (bits - e + 1); ++variant) {
      const bool is_signed = variant % 2 == 0;
      const bool has_subnormals = variant / 2 % 2 == 0;
      const int bias = variant / 4 % 2 == 0 ? (1 << (e - 1)) - 1 : 11;
      const auto specials = static_cast<Specials>(variant / 8 % 5);
      FloatElement f{e, variant / 40, bias, specials, has_subnormals, is_signed, true};
      try {
        check(f);
      } catch (const Error&) {
        continue;
      }
      list.push_back(f);
    }
  }
  return list;
}

}  // namespace nibble::inline numerics
