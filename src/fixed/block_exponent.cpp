// SPDX-License-Identifier: Apache-2.0
// Finds the common exponent of operands.
#include "fixed/block_exponent.h"

#include <algorithm>

#include "nibble/core/error.h"

namespace nibble {

Alignment align(std::span<const int> exponents) {
  if (exponents.empty()) throw Error("align", "exponents", "none", "at least one");
  const int largest = *std::max_element(exponents.begin(), exponents.end());
  const int lowest = largest - kAlignmentReach;
  Alignment alignment{largest, {}};
  for (const int exponent : exponents) {
    if (exponent >= lowest) alignment.exponent = std::min(alignment.exponent, exponent);
  }
  for (const int exponent : exponents) {
    alignment.factor.push_back(
        exponent >= lowest ? std::int64_t{1} << (exponent - alignment.exponent) : 0);
  }
  return alignment;
}

}  // namespace nibble
