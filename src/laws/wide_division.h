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

NIBBLE_HOST_DEVICE constexpr std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(static_cast<UInt128>(a) * b >> 64);
}

// 2^63 / d or a little less, for d from 2^31 to 2^32: Newton's x·(2 - d·x) never comes out above
// 1 / d, and of an error of 1/17 three steps leave less than 2^-32.
NIBBLE_HOST_DEVICE constexpr std::uint64_t reciprocal_of(std::uint64_t d) {
  constexpr std::uint64_t k48Of17 = 6063500649;     // 48/17 in 2^-31
  constexpr std::uint64_t k16Of17 = 0xF0F0F0F0u;    // 16/17 in 2^-32
  std::uint64_t x = k48Of17 - (d * k16Of17 >> 32);  // in 2^-31 of 2^32 / d
  for (int i = 0; i < 3; ++i) x = high_product(x << 1, 0 - x * d);
  return x;
}

// ⌊n / d⌋ by digits of 32 bits; d from 1 to 2^63. A digit is first taken too small by a few, since
// the reciprocal is, and then counted up: what is left decides, so that no digit can be wrong.
NIBBLE_HOST_DEVICE constexpr UInt128 quotient_by_digits(UInt128 n, std::uint64_t d) {
  const int lift = 64 - width_of(d);
  const std::uint64_t twice_reciprocal = reciprocal_of((d << lift >> 32) + 1) << 1;
  UInt128 result = 0;
  std::uint64_t rest = 0;  // below d
  int i = 3;
  while (i > 0 && n >> (32 * i) == 0) --i;
  for (; i >= 0; --i) {
    UInt128 dividend = static_cast<UInt128>(rest) << 32 | static_cast<std::uint32_t>(n >> (32 * i));
    const auto top = static_cast<std::uint64_t>(dividend << lift >> 32);  // d·2^lift is above it
    std::uint64_t digit = high_product(top, twice_reciprocal);
    dividend -= static_cast<UInt128>(digit) * d;
    for (; dividend >= d; ++digit) dividend -= d;
    rest = static_cast<std::uint64_t>(dividend);
    result = result << 32 | digit;
  }
  return result;
}

// A GPU gets no routine of the compiler.
NIBBLE_HOST_DEVICE constexpr UInt128 quotient(UInt128 n, std::uint64_t d) {
#ifdef __CUDA_ARCH__
  return quotient_by_digits(n, d);
#else
  return n / d;
#endif
}

NIBBLE_HOST_DEVICE constexpr UInt128 magnitude_of_wide(Int128 x) {
  return x < 0 ? 0 - static_cast<UInt128>(x) : static_cast<UInt128>(x);
}

// n / d to the nearest, halves away from zero, d from 1 to 2^63; the quotient must fit.
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
