// SPDX-License-Identifier: Apache-2.0
// A number as an integer and a power of two: what integer training multiplies by.
#pragma once

#include <cstdint>

namespace nibble::inline laws {

// mantissa · 2^exponent
struct ScaledInteger {
  std::int64_t mantissa = 0;
  int exponent = 0;
  bool operator==(const ScaledInteger&) const = default;
};

inline constexpr int kScaledBits = 30;  // of mantissas that are multiplied or divided

// To the nearest number whose mantissa has `bits` (1 to 62), halves away from zero; 0 is 0·2^0.
ScaledInteger rounded_to(const ScaledInteger& x, int bits);

// Of 30 bits, from factors of at most 30.
ScaledInteger product_of(const ScaledInteger& a, const ScaledInteger& b);

// ⌊mantissa·2^31 / divisor⌋·2^(exponent - 31), to 30 bits; 1 <= divisor < 2^31, 30 bits at most.
ScaledInteger divided(const ScaledInteger& x, std::int64_t divisor);

}  // namespace nibble::inline laws
