// SPDX-License-Identifier: Apache-2.0
// Quotients of numbers wider than 64 bits and whole square roots, by integer instructions alone.
#pragma once

#include <cstdint>

#include "laws/rescale.h"
#include "nibble/core/host_device.h"

namespace nibble::inline laws {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

// ⌊n / d⌋, d from 1 to 2^63: the rest then stays below 2^64. A GPU gets no routine of the compiler.
NIBBLE_HOST_DEVICE constexpr UInt128 quotient(UInt128 n, std::uint64_t d) {
#ifndef __CUDA_ARCH__
  return n / d;
#else
  UInt128 result = 0;
  std::uint64_t rest = 0;
  for (int i = 127; i >= 0; --i) {
    rest = rest << 1 | static_cast<std::uint64_t>(n >> i & 1);
    const bool is_one = rest >= d;
    rest -= is_one ? d : 0;
    result = result << 1 | (is_one ? 1 : 0);
  }
  return result;
#endif
}

NIBBLE_HOST_DEVICE constexpr UInt128 magnitude_of_wide(Int128 x) {
  return x < 0 ? 0 - static_cast<UInt128>(x) : static_cast<UInt128>(x);
}

// n / d toward zero, d from 1 to 2^63; the quotient must fit.
NIBBLE_HOST_DEVICE constexpr std::int64_t quotient_toward_zero(Int128 n, std::uint64_t d) {
  return with_sign_of(n < 0 ? -1 : 1,
                      static_cast<std::uint64_t>(quotient(magnitude_of_wide(n), d)));
}

// n / d to the nearest, halves away from zero.
NIBBLE_HOST_DEVICE constexpr std::int64_t quotient_to_nearest(Int128 n, std::uint64_t d) {
  return with_sign_of(n < 0 ? -1 : 1,
                      static_cast<std::uint64_t>(quotient(magnitude_of_wide(n) + d / 2, d)));
}

// ⌊√x⌋, bit by bit.
NIBBLE_HOST_DEVICE constexpr std::uint64_t whole_root(std::uint64_t x) {
  std::uint64_t root = 0;
  for (int i = 31; i >= 0; --i) {
    const std::uint64_t tried = root | std::uint64_t{1} << i;
    if (tried * tried <= x) root = tried;
  }
  return root;
}

}  // namespace nibble::inline laws
