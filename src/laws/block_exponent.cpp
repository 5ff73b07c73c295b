// SPDX-License-Identifier: Apache-2.0
// Finds the common exponent of operands.
#include "laws/block_exponent.h"

#include "nibble/core/error.h"

namespace nibble::inline laws {

Alignment align(std::span<const int> exponents) {
  if (exponents.empty()) throw Error("align", "exponents", "none", "at least one");
  const CommonExponent common =
      common_exponent(exponents.size(), [&](std::size_t i) { return exponents[i]; });
  Alignment alignment{common.exponent, {}};
  for (const int exponent : exponents) alignment.factor.push_back(common.factor(exponent));
  return alignment;
}

}  // namespace nibble::inline laws
