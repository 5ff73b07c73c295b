// SPDX-License-Identifier: Apache-2.0
// The range with the least cost among many.
#pragma once

#include <functional>

#include "quantize/range.h"

namespace nibble {

using RangeCost = std::function<double(const QuantizationRange& range)>;

// Cuts the range at magnitudes in steps of 1/16 octave down to 1/256 of the largest, then looks
// closer around the best; of equal costs the widest wins. After that the ends of an affine range
// take turns: alone they would not find the way where both are outliers.
RealRange cheapest_range(const RealRange& whole, const GridChoice& choice, const RangeCost& cost);

}  // namespace nibble
