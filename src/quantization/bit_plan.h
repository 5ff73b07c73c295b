// SPDX-License-Identifier: Apache-2.0
// Bits for each layer, so that all weights fit a size.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "quantization/sensitivity.h"

namespace nibble::inline quantization {

// The noise of layers is taken to add up.
struct BitPlan {
  std::map<std::string, LayerBits> layers;  // of weights; activations stay as they are (0)
  std::int64_t bytes = 0;                   // of all weights
  double noise = 0;
};

// From the largest to the smallest: each step takes bits from the layer where that costs the least
// noise for a byte. Choices that another beats in both are never taken.
std::vector<BitPlan> bit_plans(std::span<const LayerSensitivity> layers);

// The first of these plans with at most so many bytes; then layers for which there is room get
// their bits back, those first that take away the most noise. Throws where no plan is so small.
BitPlan choose_bits(std::span<const LayerSensitivity> layers, std::int64_t most_bytes);

std::string bit_plan_text(const BitPlan& plan);  // "700 bytes of weights, layers: 1 int8, 2 int4"

}  // namespace nibble::inline quantization
