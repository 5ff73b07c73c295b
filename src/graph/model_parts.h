// SPDX-License-Identifier: Apache-2.0
// A model taken apart and put together again: parameters by name while nodes come and go.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nibble/graph/network.h"

namespace nibble::inline graph {

using ParametersByName = std::map<std::string, Tensor, std::less<>>;

ParametersByName take_parameters(Model model);  // throws where they do not fit the network

// Those that the network needs; throws, naming the first that is missing.
Model model_of(Network network, ParametersByName parameters);

// Without the nodes that have a substitute: an earlier node whose value their readers take. Itself:
// the node stays.
Network without_nodes(Network network, const std::vector<std::size_t>& substitutes);

// With a loss at its end, where it has none.
Network with_loss(Network network, const Op& loss);

// By node, those that read it.
std::vector<std::vector<std::size_t>> readers_of(const Network& network);

bool is_product(const Op& op);  // a conv2d or linear

std::string parameter_name(const Node& node, std::string_view kind);  // NODE.KIND

// The bias of a conv2d or linear; zeros, which it then has, where there was none.
std::span<float> bias_of(Node& product, ParametersByName& parameters);

}  // namespace nibble::inline graph
