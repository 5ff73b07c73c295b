// SPDX-License-Identifier: Apache-2.0
// Quotients of numbers wider than 64 bits and whole square roots, by integer instructions alone.
#pragma once

#include <bit>
#include <cstdint>

#include "laws/rescale.h"
#include "nibble/core/host_device.h"

namespace nibble::inline laws {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

// The length of x in bits; 0 of 0.
NIBBLE_HOST_DEVICE constexpr int width_of(std::uint64_t x) {
#ifdef __CUDA_ARCH__
  return 64 - __clzll(static_cast<long long>(x));
#else
  return static_cast<int>(std::bit_width(x));
#endif
}

// ⌊n / d⌋ bit by bit, as many as the quotient may have; d from 1 to 2^63: the rest then stays below
// 2^64.
NIBBLE_HOST_DEVICE constexpr UInt128 quotient_by_bits(UInt128 n, std::uint64_t d) {
  const auto high = static_cast<std::uint64_t>(n >> 64);
  const int width = high != 0 ? 64 + width_of(high) : width_of(static_cast<std::uint64_t>(n));
  int i = width - width_of(d);
  if (i < 0) return 0;
  UInt128 result = 0;
  auto rest = static_cast<std::uint64_t>(n >> i >> 1);  // one bit shorter than d
  for (; i >= 0; --i) {
    rest = rest << 1 | static_cast<std::uint64_t>(n >> i & 1);
    const bool is_one = rest >= d;
    rest -= is_one ? d : 0;
    result = result << 1 | (is_one ? 1 : 0);
  }
  return result;
}

// A GPU gets no routine of the compiler.
NIBBLE_HOST_DEVICE constexpr UInt128 quotient(UInt128 n, std::uint64_t d) {
#ifdef __CUDA_ARCH__
  return quotient_by_bits(n, d);
#else
  return n / d;
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
  for (int i = (width_of(x) - 1) / 2; i >= 0; --i) {
    const std::uint64_t tried = root | std::uint64_t{1} << i;
    if (tried * tried <= x) root = tried;
  }
  return root;
}

}  // namespace nibble::inline laws
