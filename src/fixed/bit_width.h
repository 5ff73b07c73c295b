// SPDX-License-Identifier: Apache-2.0
// How many bits a magnitude needs: the shift that brings it down to 1.
#pragma once

#include <bit>
#include <cstdint>

namespace nibble {

// 0 for m <= 1, otherwise the bit length of m - 1 (ceil(log2 m)): 2^7 needs 7 bits, 2^7 + 1
// needs 8.
constexpr int bits_of(std::uint64_t magnitude) {
  return magnitude <= 1 ? 0 : static_cast<int>(std::bit_width(magnitude - 1));
}

}  // namespace nibble
