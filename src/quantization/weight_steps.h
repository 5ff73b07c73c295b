// SPDX-License-Identifier: Apache-2.0
// The steps that weights are rounded with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/fake_quantize.h"
#include "nibble/core/tensor.h"
#include "nibble/graph/network.h"
#include "nibble/quantization/settings.h"

namespace nibble::inline quantization {

enum class WeightMethod : std::uint8_t {
  max,  // all weights fit
  mse,  // the least Σ (w - fake_quantized(w))² among hundredths of that, from 0.20 to 1.00
};

// One step for each output channel, the first axis of f32 weights, or one for all. Weights that are
// all zero take the largest step of the other channels, 1 where there is none: it moves neither the
// common shift of the rescale factors nor the bias out of 32 bits. Errors name the layer.
std::vector<float> weight_steps(const std::string& layer, ConstTensorView weight,
                                bool is_per_channel, const IntegerGrid& grid, WeightMethod method);

// Of the weight of a conv2d or linear.
struct ProductSteps {
  Format format;             // of the weight: its integers
  std::vector<float> steps;  // one for all, or one an output
};

ProductSteps product_steps(const Node& node, const Tensor& weight, int bits,
                           const QuantizeSettings& settings);

}  // namespace nibble::inline quantization
