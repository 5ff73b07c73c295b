// SPDX-License-Identifier: Apache-2.0
// The check that goes before every use of a model's numbers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "nibble/graph/network.h"

namespace nibble::inline graph {

// parameters_of the network; throws, naming the first that differs, unless the tensors have their
// shapes.
std::vector<Parameter> checked_parameters(const Model& model);

// The place of a node's first parameter in the list of parameters_of, which has the order of nodes.
std::size_t first_parameter(std::span<const Parameter> parameters, std::size_t node);

}  // namespace nibble::inline graph
