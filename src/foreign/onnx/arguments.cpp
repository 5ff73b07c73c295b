// SPDX-License-Identifier: Apache-2.0
// Shapes and ranges that ONNX nodes ask for.
#include "foreign/onnx/arguments.h"

#include <fmt/format.h>

#include <algorithm>

namespace nibble::inline foreign {
namespace {

std::string text_of(const Extents& extents) {
  return fmt::format("({})", fmt::join(extents, ", "));
}

std::vector<bool> marked_axes(const NodeView& node, const std::vector<std::int64_t>& axes,
                              std::size_t rank) {
  std::vector<bool> marks(rank);
  for (const std::int64_t axis : axes) {
    const std::size_t at = axis_of(node, axis, rank);
    if (marks[at]) node.fail("axes", fmt::format("{} twice", axis), "each once");
    marks[at] = true;
  }
  return marks;
}

// Where a bound of a slice lies: negative ones count from the end, all are cut to the range.
std::int64_t bound(std::int64_t at, std::int64_t extent, std::int64_t low, std::int64_t high) {
  return std::clamp(at < 0 ? std::max(at, -extent - 1) + extent : at, low, high);
}

}  // namespace

std::optional<std::vector<std::int64_t>> list_of(const NodeView& node, Constants inputs,
                                                 std::string_view attribute, std::size_t input) {
  if (auto list = node.integers(attribute)) return list;
  if (!node.has_input(input)) return {};
  if (inputs[input] == nullptr) throw Unsupported{fmt::format("{} that are computed", attribute)};
  if (inputs[input]->is_float()) node.fail(attribute, "floats", "integers");
  return to_integers(*inputs[input]);
}

Extents extents_of(const Shape& shape) {
  return {shape.extents().begin(), shape.extents().end()};
}

std::size_t axis_of(const NodeView& node, std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) {
    node.fail("axis", std::to_string(axis), fmt::format("one of {}", rank));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

Extents reshaped_extents(const NodeView& node, Constants inputs, const Extents& from) {
  const auto target = list_of(node, inputs, "shape", 1);
  if (!target) node.fail("shape", "none", "a list");
  const bool keeps_zero = node.integer("allowzero", 0) != 0;
  Extents to = *target;
  std::size_t open = to.size();
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 0 && !keeps_zero) {
      if (i >= from.size()) node.fail("shape", text_of(to), "no 0 beyond the axes that enter");
      to[i] = from[i];
    } else if (to[i] == -1 && open == to.size()) {
      open = i;
      to[i] = 1;
    } else if (to[i] < 0) {
      node.fail("shape", text_of(*target), "extents of 0 or more and one -1 at most");
    }
  }
  const std::int64_t elements = Shape(from).elements();
  const std::int64_t rest = Shape(to).elements();  // both are checked against overflow there
  if (open < to.size()) to[open] = rest > 0 ? elements / rest : 0;
  if (Shape(to).elements() != elements) {
    node.fail("shape", text_of(*target), fmt::format("one with the elements of {}", text_of(from)));
  }
  return to;
}

Extents squeezed_extents(const NodeView& node, Constants inputs, const Extents& from) {
  const auto axes = list_of(node, inputs, "axes", 1);
  const std::vector<bool> marks =
      axes ? marked_axes(node, *axes, from.size()) : std::vector<bool>(from.size());
  Extents to;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool goes = axes ? marks[i] : from[i] == 1;
    if (!goes) to.push_back(from[i]);
    if (goes && from[i] != 1) node.fail("axes", fmt::format("{} of {}", i, text_of(from)), "1s");
  }
  return to;
}

Extents unsqueezed_extents(const NodeView& node, Constants inputs, const Extents& from) {
  const auto axes = list_of(node, inputs, "axes", 1);
  if (!axes || from.size() + axes->size() > kMaxRank) {
    node.fail("axes", axes ? fmt::format("{}", axes->size()) : "none", "a short list");
  }
  const std::vector<bool> marks = marked_axes(node, *axes, from.size() + axes->size());
  Extents to;
  std::size_t next = 0;
  for (const bool is_new : marks) to.push_back(is_new ? 1 : from[next++]);
  return to;
}

Extents shape_list(const NodeView& node, const Extents& from) {
  const auto rank = static_cast<std::int64_t>(from.size());
  const std::int64_t start = bound(node.integer("start", 0), rank, 0, rank);
  const std::int64_t end = bound(node.integer("end", rank), rank, start, rank);
  return {from.begin() + start, from.begin() + std::max(start, end)};
}

std::vector<SliceRange> slice_ranges(const NodeView& node, Constants inputs, const Extents& from) {
  const auto starts = list_of(node, inputs, "starts", 1);
  const auto ends = list_of(node, inputs, "ends", 2);
  const auto axes = list_of(node, inputs, "axes", 3);
  const auto steps = list_of(node, inputs, "steps", 4);
  if (!starts || !ends || starts->size() != ends->size() ||
      (axes && axes->size() != starts->size()) || (steps && steps->size() != starts->size()) ||
      (!axes && starts->size() > from.size())) {
    node.fail("starts, ends, axes, steps", "lists that do not fit", "as many numbers in each");
  }
  std::vector<SliceRange> ranges;
  for (const std::int64_t extent : from) ranges.push_back({.begin = 0, .step = 1, .count = extent});
  if (axes) (void)marked_axes(node, *axes, from.size());
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::size_t axis = axes ? axis_of(node, (*axes)[i], from.size()) : i;
    const std::int64_t extent = from[axis];
    const std::int64_t step = steps ? (*steps)[i] : 1;
    if (step == 0 || step == INT64_MIN) node.fail("step", std::to_string(step), "a small number");
    const bool is_forward = step > 0;
    const std::int64_t low = is_forward ? 0 : -1;
    const std::int64_t high = is_forward ? extent : extent - 1;
    const std::int64_t begin = bound((*starts)[i], extent, 0, std::max<std::int64_t>(high, 0));
    const std::int64_t end = bound((*ends)[i], extent, low, std::max(high, low));
    const std::int64_t way = is_forward ? end - begin : begin - end;
    const std::int64_t stride = is_forward ? step : -step;
    const std::int64_t count = extent > 0 && way > 0 ? (way - 1) / stride + 1 : 0;
    ranges[axis] = {.begin = begin, .step = step, .count = count};
  }
  return ranges;
}

}  // namespace nibble::inline foreign
