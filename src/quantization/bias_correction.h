// SPDX-License-Identifier: Apache-2.0
// Bias correction: means that rounding has shifted are shifted back.
#pragma once

#include <span>

#include "nibble/graph/network.h"

namespace nibble::inline quantization {

// For each conv2d and linear of the float network that the quantized one has under the same name,
// in the order of the quantized: its bias (made where there is none) grows by the mean over
// examples and places of (float value - quantized value) of each channel, the layers before it
// being corrected already. Batches are (n, …) of f32. One pass over the float network; of the
// quantized one each layer runs from the last place where all paths meet, say between blocks.
Model with_corrected_biases(const Model& floating, Model quantized,
                            std::span<const Tensor> batches);

}  // namespace nibble::inline quantization
