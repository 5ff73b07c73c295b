// SPDX-License-Identifier: Apache-2.0
// The network of real numbers that a quantized network of integers stands for.
#pragma once

#include "nibble/graph/network.h"

namespace nibble::inline integer_training {

// Whether rescales make its values: what nibble quantize writes.
bool is_quantized(const Network& network);

// With weights and biases as f32, relus where rescales were held at 0, and means for sums of
// windows. The law is in docs/integer-training.md. Throws, naming the node, where its unit does not
// follow from the scales in the formats, or where an operation stands for no real one.
Model dequantized(const Model& integers);

}  // namespace nibble::inline integer_training
