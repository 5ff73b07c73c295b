// SPDX-License-Identifier: Apache-2.0
// The three roundings of integer training, where integers are divided by a power of two.
#pragma once

#include <cstdint>
#include <string_view>

namespace nibble::inline laws {

// x / 2^s = sign(x)·(t + r / 2^s) becomes sign(x)·(t + 1) where the rounding goes up, else
// sign(x)·t.
enum class ShiftRounding : std::uint8_t {
  nearest,            // up where r >= 2^(s-1): ties away from zero
  stochastic,         // up where r > u, u uniform in [0, 2^s)
  pseudo_stochastic,  // up where the upper half of r is above its lower half
};

// "nearest", "stochastic", "pseudo-stochastic"
std::string_view name_of(ShiftRounding rounding);
ShiftRounding shift_rounding_by_name(std::string_view name);

}  // namespace nibble::inline laws
