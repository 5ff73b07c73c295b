// SPDX-License-Identifier: Apache-2.0
// A model whose parameters a training run begins with.
#pragma once

#include "nibble/graph/network.h"

namespace nibble::inline float_training {

// Throws, naming the first parameter that differs, where the model is no start for the network:
// it needs the same parameters in f32, and steps above 0.
void check_start(const Network& network, const Model& start);

}  // namespace nibble::inline float_training
