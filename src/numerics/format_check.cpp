// SPDX-License-Identifier: Apache-2.0
// Which roundings and overflow rules have a meaning for a format.
#include "nibble/core/error.h"
#include "nibble/numerics/format.h"

namespace nibble::inline numerics {

void check_combination(const Format& format, const Rounding& rounding, Overflow overflow) {
  if (rounding.random_bits < 1 || rounding.random_bits > 32) {
    throw Error("rounding", "random bits", std::to_string(rounding.random_bits), "1 to 32");
  }
  const ElementInfo info = describe(format.element);
  const bool is_float = std::holds_alternative<FloatElement>(format.element);
  const auto refuse = [&](std::string_view expected) {
    throw Error("overflow", "rule without a meaning for " + to_string(format),
                std::string(to_string(overflow)), expected);
  };
  // Posits and codebooks always end at their largest value, integers at their bounds.
  if (overflow == Overflow::infinity && !info.has_infinity) {
    refuse(info.has_nan && is_float ? "native, saturate or nan" : "native or saturate");
  }
  if (overflow == Overflow::nan && (!info.has_nan || !is_float)) refuse("native or saturate");
}

}  // namespace nibble::inline numerics
