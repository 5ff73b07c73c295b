// SPDX-License-Identifier: Apache-2.0
// Scales from the range of a group: the definition, over what it needs to know of the element.
#pragma once

#include <algorithm>
#include <cmath>

#include "nibble/core/host_device.h"
#include "nibble/numerics/scaling.h"
#include "numerics/round_float.h"

namespace nibble::inline numerics {

struct ScaleRules {
  double max = 1;         // of the element
  int top = 0;            // E(max)
  int fraction_bits = 0;  // of the element in its top binade, where the largest magnitude lands
  ScaleRule rule = ScaleRule::floor;
  double lowest_n = 0;  // of a grid
  double highest_n = 0;
};

ScaleRules scale_rules(const Element& element, ScaleRule rule);

NIBBLE_HOST_DEVICE inline int shared_exponent(const ScaleRules& rules, float amax) {
  if (amax == 0) return kMinSharedExponent;
  const int binade = std::ilogb(amax);
  int exponent = binade - rules.top;
  switch (rules.rule) {
    case ScaleRule::floor:
      break;
    case ScaleRule::ceil:
      if (static_cast<double>(amax) != std::ldexp(1.0, binade)) ++exponent;
      break;
    case ScaleRule::even: {
      const double step = std::ldexp(1.0, binade - rules.fraction_bits);
      const double rounded = std::nearbyint(static_cast<double>(amax) / step) * step;
      exponent = std::ilogb(rounded) - rules.top;
      break;
    }
    case ScaleRule::rceil:
      if (static_cast<double>(amax) > std::ldexp(rules.max, exponent)) ++exponent;
      break;
  }
  return exponent < kMinSharedExponent   ? kMinSharedExponent
         : exponent > kMaxSharedExponent ? kMaxSharedExponent
                                         : exponent;
}

NIBBLE_HOST_DEVICE inline float absmax_scale(const ScaleRules& rules, float amax) {
  const float scale = amax / static_cast<float>(rules.max);
  return scale == 0 ? 1.0F : scale;
}

NIBBLE_HOST_DEVICE inline GroupScale minmax_scale(const ScaleRules& rules, float low, float high) {
  low = low < 0 ? low : 0.0F;
  high = high > 0 ? high : 0.0F;
  const double lowest = rules.lowest_n;
  const double highest = rules.highest_n;
  const auto clamped = [&](double n) {
    return static_cast<int>(n < lowest ? lowest : n > highest ? highest : n);
  };
  const auto scale = static_cast<float>((static_cast<double>(high) - static_cast<double>(low)) /
                                        (highest - lowest));
  if (scale == 0) return {1.0F, clamped(0.0)};
  const double zero =
      std::nearbyint(lowest - static_cast<double>(low) / static_cast<double>(scale));
  return {scale, clamped(zero)};
}

NIBBLE_HOST_DEVICE inline float two_level_tensor_scale(const ScaleRules& rules, float tensor_amax) {
  constexpr float kLargestBlockScale = 448.0F;
  const float scale = tensor_amax / (kLargestBlockScale * static_cast<float>(rules.max));
  return scale == 0 ? 1.0F : scale;
}

NIBBLE_HOST_DEVICE inline float two_level_block_scale(const ScaleRules& rules, float block_amax,
                                                      float tensor_scale) {
  const FloatElement e4m3{4, 3, 7, Specials::fn, true, true, true};
  const float wanted = block_amax / static_cast<float>(rules.max) / tensor_scale;
  if (std::isnan(wanted)) return wanted;
  return static_cast<float>(
      round_element(e4m3, static_cast<double>(wanted), {}, Overflow::native, 0));
}

}  // namespace nibble::inline numerics
