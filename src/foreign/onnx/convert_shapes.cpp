// SPDX-License-Identifier: Apache-2.0
// Flatten, Reshape, Squeeze and Unsqueeze of values, and their Shape as a constant.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "foreign/onnx/converters.h"

namespace nibble::inline foreign {
namespace {

// The same numbers with other axes. A vector takes any, since rows of one order stay so; a picture
// must become a vector first, and then only its products know the new order.
Value with_extents(Translation& translation, const NodeView& node, Activation x, Extents extents) {
  if (extents.empty() || extents.front() != translation.batch) {
    throw Unsupported{fmt::format("to ({}), which mixes the batch", fmt::join(extents, ", "))};
  }
  extents.erase(extents.begin());
  if (extents == x.extents) return x;
  const bool is_vector = extents.size() == 1;
  if (translation.builder().shape(x.node).rank() == 1) {
    if (x.flattened_from && !is_vector) throw Unsupported{"of a flattened picture"};
    x.extents = std::move(extents);
    return x;
  }
  const bool is_one_pixel = x.extents[1] * x.extents[2] == 1;
  const bool is_one_channel = x.extents[0] == 1;
  if (!is_vector && !is_one_pixel) {
    throw Unsupported{fmt::format("of a picture to ({})", fmt::join(extents, ", "))};
  }
  Activation flat{.node = translation.builder().add(
                      node.wished_name(), {.name = {}, .op = Flatten{}, .inputs = {x.node}}),
                  .extents = std::move(extents),
                  .flattened_from = {},
                  .grid = x.grid};
  if (!is_one_pixel && !is_one_channel) {
    flat.flattened_from = std::array{x.extents[0], x.extents[1], x.extents[2]};
  }
  return flat;
}

}  // namespace

Value convert_shape(Translation& translation, const NodeView& node) {
  return constant_of(
      shape_list(node, translation.extents_with_batch(translation.activation(node, 0))));
}

Value convert_flatten(Translation& translation, const NodeView& node) {
  const Activation x = translation.activation(node, 0);
  if (axis_of(node, node.integer("axis", 1), x.extents.size() + 1) != 1) {
    throw Unsupported{"from another axis than 1"};
  }
  return with_extents(translation, node, x, {translation.batch, Shape(x.extents).elements()});
}

Value convert_reshape(Translation& translation, const NodeView& node) {
  const Activation x = translation.activation(node, 0);
  return with_extents(
      translation, node, x,
      reshaped_extents(node, translation.constants(node), translation.extents_with_batch(x)));
}

Value convert_squeeze(Translation& translation, const NodeView& node) {
  const Activation x = translation.activation(node, 0);
  return with_extents(
      translation, node, x,
      squeezed_extents(node, translation.constants(node), translation.extents_with_batch(x)));
}

Value convert_unsqueeze(Translation& translation, const NodeView& node) {
  const Activation x = translation.activation(node, 0);
  return with_extents(
      translation, node, x,
      unsqueezed_extents(node, translation.constants(node), translation.extents_with_batch(x)));
}

}  // namespace nibble::inline foreign
