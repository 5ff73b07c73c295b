// SPDX-License-Identifier: Apache-2.0
// What a picture of a format needs: its values near zero, and its precision by magnitude.
#pragma once

#include <vector>

#include "nibble/numerics/format.h"

namespace nibble {

inline constexpr double kValueLimit = 8;
inline constexpr int kLowestExponent = -12;
inline constexpr int kHighestExponent = 12;
inline constexpr double kMostDb = 100;

bool has_scale_from_data(const Format& format);

// Values from -kValueLimit to kValueLimit in ascending order, as close as a pixel can show. A scale
// that comes from the data is that of a group whose largest magnitude is kValueLimit.
std::vector<double> values_within_limit(const Format& format);

struct PrecisionPoint {
  double exponent = 0;  // log2 of the magnitude in the middle of an octave
  double db = 0;        // -10·log10 of the octave's mean of ((q - x) / x)², from 0 to kMostDb
};

// From kLowestExponent to kHighestExponent, or to kValueLimit with a scale from the data.
std::vector<PrecisionPoint> precision_by_magnitude(const Format& format);

}  // namespace nibble
