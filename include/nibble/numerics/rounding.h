// SPDX-License-Identifier: Apache-2.0
// How a number that a format cannot hold becomes one that it can.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nibble::inline numerics {

enum class RoundingMode : std::uint8_t {
  nearest_even,  // ties to the neighbour whose code is even
  nearest_away,  // ties away from zero
  toward_zero,
  up,          // toward +infinity
  down,        // toward -infinity
  to_odd,      // an inexact value takes the neighbour whose code is odd
  stochastic,  // away from zero where draw < floor(f·2^r), f the discarded fraction, r random bits
};

struct Rounding {
  RoundingMode mode = RoundingMode::nearest_even;
  int random_bits = 32;  // r of stochastic, 1 to 32; up to 16 a 16-bit draw is used

  constexpr bool is_stochastic() const { return mode == RoundingMode::stochastic; }
  bool operator==(const Rounding&) const = default;
};

// "nearest-even", "nearest-away", "toward-zero", "up", "down", "to-odd", "stochastic",
// "stochastic(16)"
Rounding parse_rounding(std::string_view text);
std::string to_string(const Rounding& rounding);

enum class Overflow : std::uint8_t {
  native,    // infinity where the element has one and more than 8 bits, saturation otherwise
  saturate,  // to the largest finite value; infinities too
  infinity,  // refused where the element has none
  nan,       // refused where the element has none
};

Overflow parse_overflow(std::string_view text);
std::string_view to_string(Overflow overflow);

}  // namespace nibble::inline numerics
