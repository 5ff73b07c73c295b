// SPDX-License-Identifier: Apache-2.0
// The constants of a float's codes, compared with every code.
#include "kernels/quantize/code_line.h"

#include <limits>

namespace nibble::inline kernels {
namespace {

bool is_right(const FloatLine& line, const Element& element, int code_bits) {
  for (std::uint32_t code = 0; code < 1U << code_bits; ++code) {
    const auto value = static_cast<float>(decode_code(element, code));
    if (!std::isnan(value) && line.code_of(value) != code) return false;
  }
  return true;
}

}  // namespace

std::optional<FloatLine> FloatLine::of(const Element& element) {
  const auto* spec = std::get_if<FloatElement>(&element);
  const ElementInfo info = describe(element);
  if (spec == nullptr || info.code_bits > 16 || !info.has_negative_zero || spec->mantissa_bits == 0)
    return std::nullopt;
  const int steps_exponent = spec->bias - 1 + spec->mantissa_bits;
  FloatLine line;
  const bool is_deep = spec->bias >= 127;  // the least normal number is fp32's, or below
  if (!is_deep) {
    if (steps_exponent > 127 || spec->bias < -126) return std::nullopt;
    line.least_normal = std::bit_cast<std::uint32_t>(std::ldexp(1.0F, 1 - spec->bias));
    line.steps_per_one = std::ldexp(1.0F, steps_exponent);
  }
  line.cut = 23 - spec->mantissa_bits;
  line.half = 1U << (line.cut - 1);
  line.offset = static_cast<std::uint32_t>(127 - spec->bias) << spec->mantissa_bits;
  line.sign_shift = info.code_bits - 1;
  if (info.has_infinity)
    line.infinity = encode_value(element, std::numeric_limits<double>::infinity());
  if (info.has_nan) line.nan = encode_value(element, std::nan(""));
  if (!is_right(line, element, info.code_bits)) return std::nullopt;
  return line;
}

}  // namespace nibble::inline kernels
