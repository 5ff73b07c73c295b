// SPDX-License-Identifier: Apache-2.0
// The format and the steps that a conv2d's or linear's weight is rounded with.
#pragma once

#include <vector>

#include "nibble/graph/network.h"
#include "nibble/quantization/settings.h"

namespace nibble::inline quantization {

struct ProductSteps {
  Format format;             // of the weight: its integers
  std::vector<float> steps;  // one for all, or one an output
};

ProductSteps product_steps(const Node& node, const Tensor& weight, int bits,
                           const QuantizeSettings& settings);

}  // namespace nibble::inline quantization
