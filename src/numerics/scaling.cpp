// SPDX-License-Identifier: Apache-2.0
// The scaling half of a format.
#include "nibble/numerics/scaling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numerics/scale_rules.h"

namespace nibble::inline numerics {
namespace {

// Fraction bits of an element in its top binade, which is where the largest magnitude lands.
int top_fraction_bits(const Element& element) {
  if (const auto* f = std::get_if<FloatElement>(&element)) return f->mantissa_bits;
  const ElementInfo info = describe(element);
  return std::ilogb(info.max) - std::ilogb(info.min_positive);
}

}  // namespace

ScaleRules scale_rules(const Element& element, ScaleRule rule) {
  ScaleRules rules;
  rules.max = describe(element).max;
  rules.top = std::ilogb(rules.max);
  rules.fraction_bits = top_fraction_bits(element);
  rules.rule = rule;
  if (const auto* grid = std::get_if<GridElement>(&element)) {
    rules.lowest_n = grid->lowest_n();
    rules.highest_n = grid->highest_n();
  }
  return rules;
}

int shared_exponent(const Element& element, ScaleRule rule, float amax) {
  return shared_exponent(scale_rules(element, rule), amax);
}

float absmax_scale(const Element& element, float amax) {
  return absmax_scale(scale_rules(element, {}), amax);
}

GroupScale minmax_scale(const GridElement& element, float low, float high) {
  return minmax_scale(scale_rules(element, {}), low, high);
}

float two_level_tensor_scale(const Element& element, float tensor_amax) {
  return two_level_tensor_scale(scale_rules(element, {}), tensor_amax);
}

float two_level_block_scale(const Element& element, float block_amax, float tensor_scale) {
  return two_level_block_scale(scale_rules(element, {}), block_amax, tensor_scale);
}

float scaling_magnitude(float x) {
  if (std::isnan(x)) return 0;
  return std::min(std::fabs(x), std::numeric_limits<float>::max());
}

}  // namespace nibble::inline numerics
