// SPDX-License-Identifier: Apache-2.0
// The shape that one node gives, and the sizes a network may have.
#pragma once

#include <cstdint>
#include <span>

#include "nibble/graph/network.h"

namespace nibble {

// Bounds that keep every sum over a network below 2^63: nodes are at most 2^16.
inline constexpr std::int64_t kMaxNumber = (std::int64_t{1} << 31) - 1;  // kernels, strides, …
inline constexpr std::int64_t kMaxTensor = std::int64_t{1} << 36;        // elements of one tensor
inline constexpr std::int64_t kMaxProducts = std::int64_t{1} << 46;      // of one node

// Checks what the node says of itself, then that inputs of these shapes fit.
Shape shape_of(const Node& node, std::span<const Shape> inputs);

// Elements of a tensor of the node; throws, naming it, beyond kMaxTensor.
Shape checked_shape(const Node& node, std::string_view what, std::span<const std::int64_t> extents);

}  // namespace nibble
