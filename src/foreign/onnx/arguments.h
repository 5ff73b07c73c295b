// SPDX-License-Identifier: Apache-2.0
// What an ONNX node is told beside its data: as attributes in old versions, as inputs in new ones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "foreign/onnx/constant.h"
#include "foreign/onnx/node_view.h"

namespace nibble::inline foreign {

// The inputs of a node, in order; null where one is missing or no constant.
using Constants = std::span<const Constant* const>;

// The attribute, else the input; empty where there is neither.
std::optional<std::vector<std::int64_t>> list_of(const NodeView& node, Constants inputs,
                                                 std::string_view attribute, std::size_t input);

using Extents = std::vector<std::int64_t>;

Extents extents_of(const Shape& shape);

// Python's rule: -1 is the last of `rank` axes.
std::size_t axis_of(const NodeView& node, std::int64_t axis, std::size_t rank);

// What a tensor of these extents becomes.
Extents reshaped_extents(const NodeView& node, Constants inputs, const Extents& from);
Extents squeezed_extents(const NodeView& node, Constants inputs, const Extents& from);
Extents unsqueezed_extents(const NodeView& node, Constants inputs, const Extents& from);

// What Shape gives: all extents, or those from `start` to `end`.
Extents shape_list(const NodeView& node, const Extents& from);

// Along one axis: begin, begin + step, …, so many.
struct SliceRange {
  std::int64_t begin = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};
std::vector<SliceRange> slice_ranges(const NodeView& node, Constants inputs, const Extents& from);

}  // namespace nibble::inline foreign
