// SPDX-License-Identifier: Apache-2.0
// Division by a power of two with the three roundings of integer training, and the clamp to int8.
#pragma once

#include <cstdint>

#include "fixed/rescale.h"
#include "nibble/fixed/shift_rounding.h"

namespace nibble {

// 0 <= s <= 62 and any x; s = 0 gives x. The result is not clamped.
constexpr std::int64_t shift_nearest(std::int64_t x, int s) {
  return rounded_shift(x, s);
}

// u is the first s bits of the draw, with zeros behind where s > 32.
constexpr std::int64_t shift_stochastic(std::int64_t x, int s, std::uint32_t draw) {
  if (s == 0) return x;
  const std::uint64_t u =
      s <= 32 ? std::uint64_t{draw} >> (32 - s) : std::uint64_t{draw} << (s - 32);
  const std::uint64_t magnitude = magnitude_of(x);
  const std::uint64_t r = magnitude & ((std::uint64_t{1} << s) - 1);
  return with_sign_of(x, (magnitude >> s) + (r > u ? 1 : 0));
}

// With h = floor(s/2): q = r >> h against p = r mod 2^h, p doubled where s is odd. The mean error
// over a uniform r is 2^-(s+1) for odd s and 2^-(s+1) - 2^(-s/2-1) for even s, away from zero.
constexpr std::int64_t shift_pseudo(std::int64_t x, int s) {
  const int h = s / 2;
  const std::uint64_t magnitude = magnitude_of(x);
  const std::uint64_t r = magnitude & ((std::uint64_t{1} << s) - 1);
  const std::uint64_t q = r >> h;
  const std::uint64_t p = (r & ((std::uint64_t{1} << h) - 1)) << (s % 2);
  return with_sign_of(x, (magnitude >> s) + (q > p ? 1 : 0));
}

// `draw` counts where the rounding is stochastic.
constexpr std::int64_t round_shift(ShiftRounding rounding, std::int64_t x, int s,
                                   std::uint32_t draw) {
  switch (rounding) {
    case ShiftRounding::nearest:
      return shift_nearest(x, s);
    case ShiftRounding::stochastic:
      return shift_stochastic(x, s, draw);
    case ShiftRounding::pseudo_stochastic:
      return shift_pseudo(x, s);
  }
  return 0;
}

constexpr std::int8_t clamp127(std::int64_t x) {
  return static_cast<std::int8_t>(x < -127 ? -127 : (x > 127 ? 127 : x));
}

}  // namespace nibble
