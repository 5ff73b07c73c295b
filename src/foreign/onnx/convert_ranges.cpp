// SPDX-License-Identifier: Apache-2.0
// Slice and Pad.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "foreign/onnx/converters.h"

namespace nibble::inline foreign {
namespace {

// Numbers of the axes of one example, in the order of ONNX, in that of the network.
std::vector<std::int64_t> channels_to_end(std::vector<std::int64_t> list) {
  std::rotate(list.begin(), list.begin() + 1, list.end());
  return list;
}

// The same numbers at other places, and zeros.
Value add_moved(Translation& translation, const NodeView& node, const Activation& x, Op op) {
  Activation moved = translation.activation_of(translation.builder().add(
      node.wished_name(), {.name = {}, .op = std::move(op), .inputs = {x.node}}));
  moved.grid = x.grid;
  return moved;
}

const Activation& plain_value(Translation& translation, const NodeView& node) {
  const Activation& x = translation.activation(node, 0);
  if (x.flattened_from || translation.builder().shape(x.node).rank() != x.extents.size()) {
    throw Unsupported{"of a value that was flattened"};
  }
  return x;
}

// Of a list for `rank` axes, or for those that are named.
std::vector<std::int64_t> pads_of(const NodeView& node, Constants constants, std::size_t rank) {
  const auto pads = list_of(node, constants, "pads", 1);
  std::vector<std::int64_t> axes(rank);
  for (std::size_t i = 0; i < rank; ++i) axes[i] = static_cast<std::int64_t>(i);
  if (node.has_input(3)) axes = list_of(node, constants, "axes", 3).value_or(axes);
  if (!pads || pads->size() != 2 * axes.size()) {
    node.fail("pads", pads ? fmt::format("{} numbers", pads->size()) : "none",
              fmt::format("{}", 2 * axes.size()));
  }
  std::vector<std::int64_t> all(2 * rank);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = axis_of(node, axes[i], rank);
    all[axis] = (*pads)[i];
    all[rank + axis] = (*pads)[axes.size() + i];
  }
  return all;
}

}  // namespace

Value convert_slice(Translation& translation, const NodeView& node) {
  const Activation x = plain_value(translation, node);
  const Extents extents = translation.extents_with_batch(x);
  const std::vector<SliceRange> ranges = slice_ranges(node, translation.constants(node), extents);
  Slice slice;
  bool is_whole = true;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto [begin, step, count] = ranges[i];
    const bool is_all = begin == 0 && count == extents[i] && (step == 1 || count == 1);
    if (i == 0) {
      if (!is_all) throw Unsupported{"along the batch"};
      continue;
    }
    if (step < 0) throw Unsupported{"with a negative step"};
    if (count == 0) node.fail("range", "nothing", "a part of the value");
    is_whole = is_whole && is_all;
    slice.begin.push_back(begin);
    slice.end.push_back(begin + (count - 1) * step + 1);
    slice.step.push_back(count == 1 ? 1 : step);
  }
  if (is_whole) return x;
  slice.begin = channels_to_end(std::move(slice.begin));
  slice.end = channels_to_end(std::move(slice.end));
  slice.step = channels_to_end(std::move(slice.step));
  return add_moved(translation, node, x, std::move(slice));
}

Value convert_pad(Translation& translation, const NodeView& node) {
  const Activation x = plain_value(translation, node);
  const std::string mode = node.text("mode", "constant");
  if (mode != "constant") throw Unsupported{"of another mode than constant"};
  float filler = node.real("value", 0);
  if (node.has_input(2)) {
    const Constant& given = translation.constant(node, 2);
    if (given.shape().elements() != 1) {
      node.fail("constant_value", given.shape().to_string(), "one number");
    }
    filler = to_reals(given)[0];
  }
  const std::size_t rank = x.extents.size() + 1;
  const std::vector<std::int64_t> pads = pads_of(node, translation.constants(node), rank);
  if (std::ranges::all_of(pads, [](std::int64_t pad) { return pad == 0; })) return x;
  if (filler != 0.0F) throw Unsupported{"with another number than 0"};
  if (pads[0] != 0 || pads[rank] != 0) throw Unsupported{"along the batch"};
  if (std::ranges::any_of(pads, [](std::int64_t pad) { return pad < 0; })) {
    throw Unsupported{"by less than nothing"};
  }
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank);
  Pad pad{.before = channels_to_end({pads.begin() + 1, middle}),
          .after = channels_to_end({middle + 1, pads.end()})};
  return add_moved(translation, node, x, std::move(pad));
}

}  // namespace nibble::inline foreign
