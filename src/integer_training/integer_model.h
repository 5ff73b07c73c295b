// SPDX-License-Identifier: Apache-2.0
// An integer network as a model file keeps it: int8 weights, and exponents as the scales of
// formats.
#pragma once

#include <vector>

#include "graph/int8_format.h"
#include "integer_step/predictor.h"
#include "nibble/graph/network.h"

namespace nibble::inline integer_training {

// The exponents of all values up to the answer; throws where one has none.
std::vector<int> value_exponents_of(const Network& network);

// Weights by parameter, exponents of weights by parameter, exponents of values by node.
Model integer_model(const Network& network, std::vector<Tensor> weights,
                    std::span<const int> weight_exponents, std::span<const int> value_exponents);

// With the model's weights, and its shifts frozen. The model must outlive it.
IntegerPredictor predictor_of(const Model& model, const std::string& device = "cpu",
                              Communicator* cluster = nullptr);

}  // namespace nibble::inline integer_training
