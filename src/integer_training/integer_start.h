// SPDX-License-Identifier: Apache-2.0
// The weights of a model as integer training begins with them.
#pragma once

#include "integer_step/trained_tensor.h"
#include "nibble/graph/network.h"

namespace nibble::inline integer_training {

// Into all weights of the network, which are those of a first step by this rule; the model is one
// that start_from accepted.
void write_start(const Model& start, const UpdateRule& rule,
                 std::span<TrainedTensor* const> parameters);

}  // namespace nibble::inline integer_training
