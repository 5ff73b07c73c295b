// SPDX-License-Identifier: Apache-2.0
// An integer network as a model file keeps it: int8 weights, and exponents as the scales of
// formats.
#pragma once

#include <vector>

#include "graph/integer_form.h"
#include "integer_step/predictor.h"
#include "nibble/graph/network.h"

namespace nibble::inline integer_training {

// The exponents of all values up to the answer, 0 of products that a batch norm reads; throws where
// one has none.
std::vector<int> value_exponents_of(const Network& network);

// A trained parameter as a model has it: int8 mantissas with their exponent; of a batch norm
// numbers of 32 bits, whose unit the law fixes.
struct ModelTensor {
  Tensor tensor;
  int exponent = 0;
};
ModelTensor model_tensor(const TrainedTensor& tensor, const WeightsState& state);

// What a network learned, and what calibration found: exponents of values by node, statistics of
// batch norms in the order of nodes.
Model integer_model(const Network& network, std::vector<ModelTensor> trained,
                    const Calibration& calibration);

// What a model keeps of its calibration.
Calibration calibration_of(const Model& model);

// To a predictor of the same network.
void set_weights(IntegerPredictor& predictor, const Model& model);

}  // namespace nibble::inline integer_training
