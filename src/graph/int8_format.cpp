// SPDX-License-Identifier: Apache-2.0
// int8 with a power of two as its scale.
#include "graph/integer_form.h"

#include <cmath>

namespace nibble::inline graph {

int exponent_for(double largest) {
  constexpr int kMantissaBits = 7;
  if (!(largest > 0)) return -kMantissaBits;
  int exponent = 0;
  const double fraction = std::frexp(largest, &exponent);  // largest = fraction·2^exponent
  return (fraction == 0.5 ? exponent - 1 : exponent) - kMantissaBits;
}

Precision int8_of(int exponent) {
  Precision precision{.format = parse_format("int8")};
  precision.format.scaling.kind = ScaleKind::given;
  precision.format.scaling.scale = std::ldexp(1.0F, exponent);
  precision.rounding = parse_rounding("nearest-away");
  precision.overflow = Overflow::saturate;
  return precision;
}

std::optional<int> exponent_of(const Precision& precision) {
  int exponent = 0;
  const Scaling& scaling = precision.format.scaling;
  if (scaling.kind != ScaleKind::given || std::frexp(scaling.scale, &exponent) != 0.5F)
    return std::nullopt;
  if (precision != int8_of(exponent - 1)) return std::nullopt;
  return exponent - 1;
}

}  // namespace nibble::inline graph
