// SPDX-License-Identifier: Apache-2.0
// Numbers as an integer and a power of two.
#include "nibble/laws/scaled_integer.h"

#include <bit>

#include "laws/integer_division.h"
#include "laws/rescale.h"

namespace nibble::inline laws {

ScaledInteger rounded_to(const ScaledInteger& x, int bits) {
  if (x.mantissa == 0) return {};
  const int surplus = static_cast<int>(std::bit_width(magnitude_of(x.mantissa))) - bits;
  if (surplus <= 0) {
    return {x.mantissa * (std::int64_t{1} << -surplus), x.exponent + surplus};
  }
  const std::int64_t mantissa = rounded_shift(x.mantissa, surplus);
  const bool is_longer = magnitude_of(mantissa) >> bits != 0;  // it was rounded up to 2^bits
  return {is_longer ? mantissa / 2 : mantissa, x.exponent + surplus + (is_longer ? 1 : 0)};
}

ScaledInteger product_of(const ScaledInteger& a, const ScaledInteger& b) {
  return rounded_to({a.mantissa * b.mantissa, a.exponent + b.exponent}, kScaledBits);
}

ScaledInteger divided(const ScaledInteger& x, std::int64_t divisor) {
  constexpr int kPlaces = 31;
  const ScaledInteger whole = rounded_to(x, kScaledBits);
  return rounded_to(
      {whole.mantissa * (std::int64_t{1} << kPlaces) / divisor, whole.exponent - kPlaces},
      kScaledBits);
}

}  // namespace nibble::inline laws
