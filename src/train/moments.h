// SPDX-License-Identifier: Apache-2.0
// Running moments of batch norms measured anew, for weights that never saw a batch: averages.
#pragma once

#include <cstdint>
#include <span>

#include "nibble/data/dataset.h"
#include "nibble/graph/network.h"
#include "nibble/train/policy.h"

namespace nibble {

// Passes batches of the given images through the model in training mode; the running moments start
// anew. Does nothing to a network without batch norm.
void measure_moments(Model& model, const PrecisionPolicy& policy, const Dataset& data,
                     std::span<const std::int32_t> indices, std::int64_t batch);

}  // namespace nibble
