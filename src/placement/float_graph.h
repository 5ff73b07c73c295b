// SPDX-License-Identifier: Apache-2.0
// A step of float training as units and tensors: products of convolutions and linear layers can be
// placed, everything else is the host's.
#pragma once

#include "nibble/float_training/recipe.h"
#include "placement/step_graph.h"

namespace nibble::inline placement {

// Of a batch of so many images; the recipe has its whole policy. A value that goes from one product
// to the next comes home in between, which the graph does not know.
StepGraph float_step_graph(const Recipe& recipe, std::int64_t images);

}  // namespace nibble::inline placement
