// SPDX-License-Identifier: Apache-2.0
// An integer network as a model file keeps it: int8 weights, and exponents as the scales of
// formats.
#pragma once

#include <optional>
#include <vector>

#include "integer/predictor.h"
#include "nibble/graph/network.h"

namespace nibble {

// int8 of the given power of two.
Precision int8_of(int exponent);
std::optional<int> exponent_of(const Precision& precision);  // empty: it is no such format

// The exponents of all values up to the answer; throws where one has none.
std::vector<int> value_exponents_of(const Network& network);

// Weights by parameter, exponents of weights by parameter, exponents of values by node.
Model integer_model(const Network& network, std::vector<Tensor> weights,
                    std::span<const int> weight_exponents, std::span<const int> value_exponents);

// With the model's weights, and its shifts frozen. The model must outlive it.
IntegerPredictor predictor_of(const Model& model);

}  // namespace nibble
