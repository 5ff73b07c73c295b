// SPDX-License-Identifier: Apache-2.0
// The parameters of a model: the check that goes before every use of them, and those of integer
// networks as plain integers, packed or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nibble/graph/network.h"

namespace nibble::inline graph {

// parameters_of the network; throws, naming the first that differs, unless the tensors have their
// shapes.
std::vector<Parameter> checked_parameters(const Model& model);

// The place of a node's first parameter in the list of parameters_of, which has the order of nodes.
std::size_t first_parameter(std::span<const Parameter> parameters, std::size_t node);

// The format of its weight where that is integers of less than 8 bits, otherwise none.
const GridElement* narrow_weight(const Node& node);

// Any integer tensor; throws, naming it, where the tensor is none.
std::vector<std::int64_t> integers_of(const Parameter& parameter, const Tensor& tensor);

// A weight, packed or not; throws where an integer is beyond -128 … 127.
std::vector<std::int8_t> weights_of(const Network& network, const Parameter& parameter,
                                    const Tensor& tensor);

// Two's complement of a few bits one after another, least significant bit first.
std::vector<std::uint8_t> packed_weights(std::span<const std::int8_t> values, int bits);

}  // namespace nibble::inline graph
