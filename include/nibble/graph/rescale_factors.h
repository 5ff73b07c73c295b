// SPDX-License-Identifier: Apache-2.0
// Real factors as the integers of the rescale law.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nibble {

// factor[c] ≈ multiplier[c] / 2^shift.
struct RescaleFactors {
  std::vector<std::int32_t> multipliers;
  std::int64_t shift = 0;
};

// The largest shift (62 at most) with which the largest multiplier stays below 2^bits; each is
// rounded to the nearest, ties away. Factors are finite, not negative and below 2^bits.
RescaleFactors rescale_factors(std::span<const double> factors, int bits = 31);

}  // namespace nibble
