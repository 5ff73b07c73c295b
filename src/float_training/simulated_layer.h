// SPDX-License-Identifier: Apache-2.0
// Convolution and linear layers whose products are summed in a simulated accumulator: slow by
// nature, every sum is rounded.
#pragma once

#include <memory>

#include "float_training/layer.h"

namespace nibble::inline float_training {

std::unique_ptr<Layer> make_simulated(const LayerSettings& settings);

}  // namespace nibble::inline float_training
