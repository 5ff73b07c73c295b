// SPDX-License-Identifier: Apache-2.0
// The element half of a format: each call goes to the family's own file.
#include "nibble/numerics/element.h"

#include <cmath>

#include "nibble/core/error.h"
#include "numerics/element_families.h"
#include "numerics/round_float.h"
#include "numerics/round_grid.h"
#include "numerics/round_posit.h"

namespace nibble::inline numerics {

ElementInfo describe(const Element& element) {
  return std::visit([](const auto& e) { return describe_element(e); }, element);
}

void check(const Element& element) {
  std::visit([](const auto& e) { check_element(e); }, element);
}

double round_to(const Element& element, double x, const Rounding& rounding, Overflow overflow,
                std::uint32_t draw) {
  if (std::isnan(x)) return x;
  return std::visit([&](const auto& e) { return round_element(e, x, rounding, overflow, draw); },
                    element);
}

std::uint32_t encode_value(const Element& element, double value) {
  return std::visit([&](const auto& e) { return encode_element(e, value); }, element);
}

double decode_code(const Element& element, std::uint32_t code) {
  const int bits = describe(element).code_bits;
  if (bits < 32 && (code >> bits) != 0) {
    throw Error("decode", "code out of range", std::to_string(code),
                "below 2^" + std::to_string(bits));
  }
  return std::visit([&](const auto& e) { return decode_element(e, code); }, element);
}

}  // namespace nibble::inline numerics
