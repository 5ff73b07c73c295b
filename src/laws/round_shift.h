// SPDX-License-Identifier: Apache-2.0
// Division by a power of two with the three roundings of integer training, and the clamp to int8.
#pragma once

#include <cstdint>

#include "laws/rescale.h"
#include "nibble/laws/shift_rounding.h"

namespace nibble::inline laws {

// 0 <= s <= 62 and any x; s = 0 gives x. The result is not clamped. In 32 bits, which a GPU likes
// better, s <= 30.
template <class Signed = std::int64_t>
NIBBLE_HOST_DEVICE constexpr Signed shift_nearest(std::type_identity_t<Signed> x, int s) {
  return rounded_shift<Signed>(x, s);
}

// u is the first s bits of the draw, with zeros behind where s > 32.
template <class Signed = std::int64_t>
NIBBLE_HOST_DEVICE constexpr Signed shift_stochastic(std::type_identity_t<Signed> x, int s,
                                                     std::uint32_t draw) {
  using Magnitude = std::make_unsigned_t<Signed>;
  if (s == 0) return x;
  const auto u = static_cast<Magnitude>(s <= 32 ? std::uint64_t{draw} >> (32 - s)
                                                : std::uint64_t{draw} << (s - 32));
  const Magnitude magnitude = magnitude_of<Signed>(x);
  const Magnitude r = magnitude & ((Magnitude{1} << s) - 1);
  return with_sign_of<Signed>(x, (magnitude >> s) + (r > u ? 1 : 0));
}

// With h = floor(s/2): q = r >> h against p = r mod 2^h, p doubled where s is odd. The mean error
// over a uniform r is 2^-(s+1) for odd s and 2^-(s+1) - 2^(-s/2-1) for even s, away from zero.
template <class Signed = std::int64_t>
NIBBLE_HOST_DEVICE constexpr Signed shift_pseudo(std::type_identity_t<Signed> x, int s) {
  using Magnitude = std::make_unsigned_t<Signed>;
  const int h = s / 2;
  const Magnitude magnitude = magnitude_of<Signed>(x);
  const Magnitude r = magnitude & ((Magnitude{1} << s) - 1);
  const Magnitude q = r >> h;
  const Magnitude p = (r & ((Magnitude{1} << h) - 1)) << (s % 2);
  return with_sign_of<Signed>(x, (magnitude >> s) + (q > p ? 1 : 0));
}

// `draw` counts where the rounding is stochastic.
template <class Signed = std::int64_t>
NIBBLE_HOST_DEVICE constexpr Signed round_shift(ShiftRounding rounding,
                                                std::type_identity_t<Signed> x, int s,
                                                std::uint32_t draw) {
  switch (rounding) {
    case ShiftRounding::nearest:
      return shift_nearest<Signed>(x, s);
    case ShiftRounding::stochastic:
      return shift_stochastic<Signed>(x, s, draw);
    case ShiftRounding::pseudo_stochastic:
      return shift_pseudo<Signed>(x, s);
  }
  return 0;
}

NIBBLE_HOST_DEVICE constexpr std::int8_t clamp127(std::int64_t x) {
  return static_cast<std::int8_t>(x < -127 ? -127 : (x > 127 ? 127 : x));
}

}  // namespace nibble::inline laws
