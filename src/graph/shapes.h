// SPDX-License-Identifier: Apache-2.0
// What a network must be: names, order, arity and precisions, then the shape that each node gives,
// and the sizes that it may have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
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

// Bounds that keep sums over a network below 2^63, whatever the limits in force are.
inline constexpr std::int64_t kMaxNumber = (std::int64_t{1} << 31) - 1;  // extents, channels, …
inline constexpr std::int64_t kMaxTensor = std::int64_t{1} << 36;        // elements of one tensor

// Checks what the node says of itself, then that inputs of these shapes fit.
Shape shape_of(const Node& node, std::span<const Shape> inputs);

// Elements of a tensor of the node; throws, naming it, beyond kMaxTensor.
Shape checked_shape(const Node& node, std::string_view what, std::span<const std::int64_t> extents);

// Throws, naming the node, where weights or work of all nodes up to it are beyond the limits.
void check_costs(const Network& network, std::span<const Shape> shapes, const Limits& most);

}  // namespace nibble::inline graph
