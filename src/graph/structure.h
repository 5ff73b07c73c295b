// SPDX-License-Identifier: Apache-2.0
// What a network must be before shapes are asked for: names, order, arity, precisions.
#pragma once

#include <cstddef>
#include <string_view>

#include "nibble/core/limits.h"
#include "nibble/graph/network.h"

namespace nibble::inline graph {

// Letters, digits, '-', '_' and '.', of them no '-' or '.' first: names of files and, but for two
// signs, of C.
bool is_node_name(std::string_view name);

bool has_weight(const Op& op);  // that Node::weight speaks of

// What one node at this place must be, whatever the others are; throws, naming it.
void check_node(const Node& node, std::size_t index);

void check_structure(const Network& network, const Limits& most);

}  // namespace nibble::inline graph
