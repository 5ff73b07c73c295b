// SPDX-License-Identifier: Apache-2.0
// Real factors as the integers of the rescale law.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nibble::inline graph {

// factor[c] ≈ multiplier[c] / 2^shift.
struct RescaleFactors {
  std::vector<std::int32_t> multipliers;
  std::int64_t shift = 0;
};

// The largest shift (62 at most) with which the largest multiplier stays below 2^bits; each is
// rounded to the nearest, ties away. Factors are finite, not negative and below 2^bits.
RescaleFactors rescale_factors(std::span<const double> factors, int bits = 31);

// NVIDIA's: below 2^16, the shift one of 16, 10, 4, 1 and 0, the largest with which all fit;
// factors that even 0 leaves too large become 65,535.
RescaleFactors u16_factors(std::span<const double> factors);

// As CMSIS-NN and TensorFlow Lite write it: factor = multiplier / 2^31·2^shift with the multiplier
// in [2^30, 2^31), or 0 for the factor 0. A shift below 0 goes to the right.
struct NormalizedFactor {
  std::int32_t multiplier = 0;
  int shift = 0;
  bool operator==(const NormalizedFactor&) const = default;
};

// Of multiplier / 2^shift, exactly.
NormalizedFactor normalized_factor(std::int32_t multiplier, std::int64_t shift);

}  // namespace nibble::inline graph
