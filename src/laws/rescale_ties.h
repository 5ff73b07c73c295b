// SPDX-License-Identifier: Apache-2.0
// Where the rescale law can meet a tie: without ties, rounding half up is the law for all signs.
#pragma once

#include <bit>
#include <cstdint>

namespace nibble::inline laws {

// Whether some x with |x| <= most has x·m half-way between two multiples of 2^s: of all powers of
// two, 2^(s-1) is the largest that divides such a product.
constexpr bool has_ties(std::uint64_t most, std::uint64_t m, int s) {
  const int of_m = std::countr_zero(m);  // 64 where m is 0
  return of_m < s && static_cast<int>(std::bit_width(most)) >= s - of_m;
}

}  // namespace nibble::inline laws
