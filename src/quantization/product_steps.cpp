// SPDX-License-Identifier: Apache-2.0
// Steps by the settings, none far below the others.
#include "quantization/product_steps.h"

#include <algorithm>
#include <string>

#include "graph/fake_quantize.h"
#include "quantization/weight_steps.h"

namespace nibble::inline quantization {
namespace {

// Of the largest step of a weight. Channels that died in training have weights near 0; with steps
// of their own what is added to them would leave 32 bits.
constexpr float kLeastStep = 1.0F / 4096;

}  // namespace

ProductSteps product_steps(const Node& node, const Tensor& weight, int bits,
                           const QuantizeSettings& settings) {
  ProductSteps result{
      .format = parse_format(bits == 8 ? "int8(symmetric)" : "int" + std::to_string(bits)),
      .steps = {}};
  result.steps = weight_steps(weight.view(), settings.is_per_channel, grid_of(node, result.format),
                              settings.fits_weights ? WeightMethod::mse : WeightMethod::max);
  const float least = std::ranges::max(result.steps) * kLeastStep;
  for (float& each : result.steps) each = std::max(each, least);
  return result;
}

}  // namespace nibble::inline quantization
