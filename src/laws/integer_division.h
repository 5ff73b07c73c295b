// SPDX-License-Identifier: Apache-2.0
// Division by integer instructions alone: a GPU's compiler would take a float reciprocal.
#pragma once

#include <bit>
#include <cstdint>

#include "laws/rescale.h"
#include "nibble/core/host_device.h"

namespace nibble::inline laws {

// ⌊n / d⌋ for many n below 2^31 and one d from 1 to 2^31: with l = ⌈log2 d⌉ and
// m = ⌊2^32·(2^l - d) / d⌋ + 1 it is (⌊n·m / 2^32⌋ + n) >> l (Granlund and Montgomery 1994).
struct Divisor {
  std::uint32_t divisor = 1;
  std::uint32_t multiplier = 1;
  std::uint32_t shift = 0;

  static constexpr Divisor of(std::uint32_t d) {
    const auto l = static_cast<std::uint32_t>(std::bit_width(d - 1));
    const std::uint64_t m = (((std::uint64_t{1} << l) - d) << 32) / d + 1;
    return {d, static_cast<std::uint32_t>(m), l};
  }

  NIBBLE_HOST_DEVICE constexpr std::uint32_t quotient(std::uint32_t n) const {
    return (static_cast<std::uint32_t>(std::uint64_t{n} * multiplier >> 32) + n) >> shift;
  }
  NIBBLE_HOST_DEVICE constexpr std::uint32_t remainder(std::uint32_t n, std::uint32_t q) const {
    return n - q * divisor;
  }
};

// ⌊n·2^bits / d⌋, 0 <= n <= d < 2^62, d > 0.
NIBBLE_HOST_DEVICE constexpr std::int64_t share_of(std::int64_t n, std::int64_t d, int bits) {
  std::int64_t quotient = n >= d ? 1 : 0;
  std::int64_t rest = n - quotient * d;
  for (int i = 0; i < bits; ++i) {
    rest *= 2;
    const std::int64_t bit = rest >= d ? 1 : 0;
    rest -= bit * d;
    quotient = 2 * quotient + bit;
  }
  return quotient;
}

// ⌊n / d⌋ where that is below 2^bits: n >= 0, d > 0, 0 <= bits <= 63. No step overflows: what is
// taken off is at most what is there.
NIBBLE_HOST_DEVICE constexpr std::int64_t quotient_of(std::int64_t n, std::int64_t d, int bits) {
  std::int64_t quotient = 0;
  for (int i = bits - 1; i >= 0; --i) {
    if (n >> i < d) continue;
    n -= d << i;
    quotient |= std::int64_t{1} << i;
  }
  return quotient;
}

// x / 2^s toward zero, 0 <= s <= 63.
NIBBLE_HOST_DEVICE constexpr std::int64_t shift_toward_zero(std::int64_t x, int s) {
  return with_sign_of(x, magnitude_of(x) >> s);
}

}  // namespace nibble::inline laws
