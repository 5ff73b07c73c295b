// SPDX-License-Identifier: Apache-2.0
// The check that goes before every use of a model's numbers.
#pragma once

#include <vector>

#include "nibble/graph/network.h"

namespace nibble {

// parameters_of the network; throws, naming the first that differs, unless the tensors have their
// shapes.
std::vector<Parameter> checked_parameters(const Model& model);

}  // namespace nibble
