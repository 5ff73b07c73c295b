// SPDX-License-Identifier: Apache-2.0
// An exact accumulator of products.
#include "numerics/quire.h"

#include <string>

#include "nibble/core/error.h"

namespace nibble::inline numerics {
namespace {

bool is_in_range(double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return false;
  if (a == 0 || b == 0) return true;
  const Significand sa = significand_of(a);
  const Significand sb = significand_of(b);
  const int lowest_bit = sa.exponent + sb.exponent - ExactSum::kLowestExponent;
  const auto width = static_cast<int>(std::bit_width(sa.integer) + std::bit_width(sb.integer));
  return lowest_bit >= 0 && lowest_bit + width <= 1024;
}

}  // namespace

void Quire::add_product(double a, double b) {
  if (!is_in_range(a, b)) {
    throw Error("quire", "operand out of range", std::to_string(a) + " * " + std::to_string(b),
                "finite values that are multiples of 2^-256 below 2^256");
  }
  sum_.add_product(a, b);
}

}  // namespace nibble::inline numerics
