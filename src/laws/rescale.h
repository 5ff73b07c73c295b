// SPDX-License-Identifier: Apache-2.0
// The one rescale law: multiply by an integer, divide by a power of two, ties away from zero.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "nibble/core/host_device.h"

namespace nibble::inline laws {

// |x| without overflow: 2^63 for the smallest of all 64-bit numbers.
template <class Signed = std::int64_t>
NIBBLE_HOST_DEVICE constexpr std::make_unsigned_t<Signed> magnitude_of(
    std::type_identity_t<Signed> x) {
  const auto bits = static_cast<std::make_unsigned_t<Signed>>(x);
  return x < 0 ? 0 - bits : bits;
}

// sign(x)·magnitude.
template <class Signed = std::int64_t>
NIBBLE_HOST_DEVICE constexpr Signed with_sign_of(
    std::type_identity_t<Signed> x, std::make_unsigned_t<std::type_identity_t<Signed>> magnitude) {
  return static_cast<Signed>(x < 0 ? 0 - magnitude : magnitude);
}

// R(p, s) = sign(p)·((|p| + 2^(s-1)) >> s), R(p, 0) = p; 0 <= s <= 62, in 32 bits s <= 30. The sum
// stays below 2^64, or 2^32, for every p, so there is nothing to overflow.
template <class Signed = std::int64_t>
NIBBLE_HOST_DEVICE constexpr Signed rounded_shift(std::type_identity_t<Signed> p, int s) {
  using Magnitude = std::make_unsigned_t<Signed>;
  if (s == 0) return p;
  return with_sign_of<Signed>(p, (magnitude_of<Signed>(p) + (Magnitude{1} << (s - 1))) >> s);
}

// R(p, s) for |p| + 2^(s-1) < 2^31 and s >= 1, in the fewest instructions: below zero one less is
// added before the arithmetic shift.
NIBBLE_HOST_DEVICE constexpr std::int32_t rounded_shift_of_small(std::int32_t p, int s) {
  return (p + (std::int32_t{1} << (s - 1)) + (p >> 31)) >> s;
}

// R(value·multiplier, shift), one summand of `rescale`.
struct RescaleTerm {
  std::int64_t value = 0;
  std::int64_t multiplier = 1;
  int shift = 0;
};

// y = clamp(z + R(Σᵢ R(xᵢ·mᵢ, sᵢ)·m, s), lo, hi). Every product is below 2^62 in magnitude, and so
// is the sum.
constexpr std::int64_t rescale(std::span<const RescaleTerm> terms, std::int64_t m, int s,
                               std::int64_t zero, std::int64_t lo, std::int64_t hi) {
  std::int64_t sum = 0;
  for (const RescaleTerm& term : terms) {
    sum += rounded_shift(term.value * term.multiplier, term.shift);
  }
  const std::int64_t y = zero + rounded_shift(sum * m, s);
  return y < lo ? lo : (y > hi ? hi : y);
}

}  // namespace nibble::inline laws
