// SPDX-License-Identifier: Apache-2.0
// Weights and biases as integers.
#pragma once

#include <span>

#include "graph/fake_quantize.h"

namespace nibble::inline quantization {

// The steps that integers count in: those given, but none below 2^-12 of the largest. Channels that
// died in training have steps near 0, in which a bias or an addend would leave 32 bits.
std::vector<float> counted_steps(std::span<const float> steps);

// fake_quantized(w, step) in counted steps; one step, or one an output. Packed below 8
// bits.
Tensor integer_weights(const Tensor& weight, std::span<const float> steps,
                       std::span<const float> counted, const IntegerGrid& grid);

Precision integer_weight_format(const IntegerGrid& grid);  // int2 … int8

// R(bias / unit) as i32; throws, naming the node, where that does not fit.
Tensor integer_bias(const Node& node, const Tensor& bias, std::span<const double> units);

}  // namespace nibble::inline quantization
