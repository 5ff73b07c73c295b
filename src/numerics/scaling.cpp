// SPDX-License-Identifier: Apache-2.0
// The scaling half of a format.
#include "nibble/numerics/scaling.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nibble {
namespace {

// Fraction bits of an element in its top binade, which is where the largest magnitude lands.
int top_fraction_bits(const Element& element) {
  if (const auto* f = std::get_if<FloatElement>(&element)) return f->mantissa_bits;
  const ElementInfo info = describe(element);
  return std::ilogb(info.max) - std::ilogb(info.min_positive);
}

int rounded_binade(float amax, int fraction_bits) {
  const double step = std::ldexp(1.0, std::ilogb(amax) - fraction_bits);
  return std::ilogb(std::nearbyint(static_cast<double>(amax) / step) * step);
}

}  // namespace

int shared_exponent(const Element& element, ScaleRule rule, float amax) {
  if (amax == 0) return kMinSharedExponent;
  const double max = describe(element).max;
  const int top = std::ilogb(max);
  const int binade = std::ilogb(amax);
  int exponent = binade - top;
  switch (rule) {
    case ScaleRule::floor:
      break;
    case ScaleRule::ceil:
      if (static_cast<double>(amax) != std::ldexp(1.0, binade)) ++exponent;
      break;
    case ScaleRule::even:
      exponent = rounded_binade(amax, top_fraction_bits(element)) - top;
      break;
    case ScaleRule::rceil:
      if (static_cast<double>(amax) > std::ldexp(max, exponent)) ++exponent;
      break;
  }
  return std::clamp(exponent, kMinSharedExponent, kMaxSharedExponent);
}

float absmax_scale(const Element& element, float amax) {
  const float scale = amax / static_cast<float>(describe(element).max);
  return scale == 0 ? 1.0F : scale;
}

GroupScale minmax_scale(const GridElement& element, float low, float high) {
  low = std::min(low, 0.0F);
  high = std::max(high, 0.0F);
  const double lowest = element.lowest_n();
  const double highest = element.highest_n();
  const auto scale = static_cast<float>((static_cast<double>(high) - static_cast<double>(low)) /
                                        (highest - lowest));
  if (scale == 0) return {1.0F, static_cast<int>(std::clamp(0.0, lowest, highest))};
  const double zero =
      std::nearbyint(lowest - static_cast<double>(low) / static_cast<double>(scale));
  return {scale, static_cast<int>(std::clamp(zero, lowest, highest))};
}

float two_level_tensor_scale(const Element& element, float tensor_amax) {
  constexpr float kLargestBlockScale = 448.0F;
  const float scale =
      tensor_amax / (kLargestBlockScale * static_cast<float>(describe(element).max));
  return scale == 0 ? 1.0F : scale;
}

float two_level_block_scale(const Element& element, float block_amax, float tensor_scale) {
  static const Element kE4m3 = FloatElement{4, 3, 7, Specials::fn, true, true, true};
  const float wanted = block_amax / static_cast<float>(describe(element).max) / tensor_scale;
  return static_cast<float>(round_to(kE4m3, wanted, {}));
}

float scaling_magnitude(float x) {
  if (std::isnan(x)) return 0;
  return std::min(std::fabs(x), std::numeric_limits<float>::max());
}

}  // namespace nibble
