// SPDX-License-Identifier: Apache-2.0
// How weights begin.
#pragma once

#include <cstdint>

#include "integer_step/trained_tensor.h"

namespace nibble::inline integer_step {

inline constexpr int kBiasExponent = -10;  // of biases, for life: they reach ±0.124

// Uniform in -127 … 127, or zeros of a bias, with the memory that an update rule needs.
WeightsState initial_state(const TrainedTensor& tensor, int exponent, const UpdateRule& rule,
                           const RandomKey& key);

// ⌈log2 √(6 / (fan_in + fan_out))⌉ - 7: Xavier's bound is what the mantissa 127 stands for.
int xavier_exponent(std::int64_t fan_in, std::int64_t fan_out);

}  // namespace nibble::inline integer_step
