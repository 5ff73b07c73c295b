// SPDX-License-Identifier: Apache-2.0
// Add, Sub, Sum and Concat: values joined with each other, or with one number a channel.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "foreign/onnx/converters.h"
#include "foreign/onnx/strided_copy.h"

namespace nibble::inline foreign {
namespace {

// The constant as one number for each index of the value's last axis; Unsupported where it differs
// within a channel.
Tensor channel_numbers(Translation& translation, const Constant& constant, const Activation& x) {
  Extents extents = extents_of(constant.shape());
  const std::size_t rank = x.extents.size() + 1;
  if (extents.size() > rank || !constant.is_float()) throw Unsupported{"of a constant"};
  extents.insert(extents.begin(), rank - extents.size(), 1);
  const std::int64_t channels = x.extents[0];
  const std::int64_t there = extents[1];
  if ((there != 1 && there != channels) || constant.shape().elements() != there) {
    throw Unsupported{fmt::format("of a constant of shape {}, which is not one number a channel",
                                  constant.shape().to_string())};
  }
  translation.budget().take(channels);
  const std::array<std::int64_t, 1> strides{there == 1 ? 0 : 1};
  Tensor numbers = strided_copy(constant.tensor->view(), Shape{channels}, 0, strides);
  if (!x.flattened_from) return numbers;
  const Tensor row = reshaped(numbers.view(), Shape{1, channels});
  return reshaped(channels_last(row.view(), *x.flattened_from).view(), Shape{channels});
}

bool has_no_bias(const Op& op) {
  const auto* conv = std::get_if<Conv2d>(&op);
  const auto* linear = std::get_if<Linear>(&op);
  return (conv != nullptr && !conv->has_bias) || (linear != nullptr && !linear->has_bias);
}

// Into the product before it, where nobody else reads that; else as a node of its own.
Value add_bias(Translation& translation, const NodeView& node, std::size_t input, Tensor bias) {
  Activation x = translation.activation(node, input);
  Builder& builder = translation.builder();
  if (x.node == builder.last() && has_no_bias(builder.network().nodes.back().op) &&
      translation.is_read_once(x.node, node.input(input))) {
    builder.add_bias_to_last(std::move(bias));
    return x;
  }
  std::vector<Tensor> parameters;
  parameters.push_back(std::move(bias));
  x.grid.reset();
  x.node = builder.add(node.wished_name(), {.name = {}, .op = Bias{}, .inputs = {x.node}},
                       std::move(parameters));
  return x;
}

Value add_values(Translation& translation, const NodeView& node,
                 const std::vector<Activation>& values) {
  Activation sum = values[0];
  Node add{.name = {}, .op = Add{}};
  for (const Activation& x : values) {
    if (x.extents != sum.extents || x.flattened_from != sum.flattened_from ||
        translation.builder().shape(x.node) != translation.builder().shape(sum.node)) {
      throw Unsupported{"of values of different shapes"};
    }
    add.inputs.push_back(x.node);
  }
  sum.grid.reset();
  sum.node = translation.builder().add(node.wished_name(), std::move(add));
  return sum;
}

}  // namespace

Value add_sum(Translation& translation, const NodeView& node, const Activation& a,
              const Activation& b) {
  return add_values(translation, node, {a, b});
}

Value convert_add(Translation& translation, const NodeView& node) {
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const Constant* constant = translation.find_constant(node, side);
    if (constant == nullptr) continue;
    const Activation& x = translation.activation(node, 1 - side);
    return add_bias(translation, node, 1 - side, channel_numbers(translation, *constant, x));
  }
  return add_sum(translation, node, translation.activation(node, 0),
                 translation.activation(node, 1));
}

Value convert_sub(Translation& translation, const NodeView& node) {
  const Activation& x = translation.activation(node, 0);
  Tensor bias = channel_numbers(translation, translation.constant(node, 1), x);
  for (float& each : bias.as<float>()) each = -each;
  return add_bias(translation, node, 0, std::move(bias));
}

Value convert_sum(Translation& translation, const NodeView& node) {
  std::vector<Activation> values;
  for (std::size_t i = 0; i < node.inputs(); ++i) values.push_back(translation.activation(node, i));
  if (values.size() < 2) return translation.value(node, 0);
  return add_values(translation, node, values);
}

Value convert_concat(Translation& translation, const NodeView& node) {
  Activation joined = translation.activation(node, 0);
  const std::size_t axis = axis_of(node, node.integer("axis", 0), joined.extents.size() + 1);
  if (axis != 1) throw Unsupported{"along another axis than the channels"};
  if (node.inputs() == 1) return joined;
  Node concat{.name = {}, .op = Concat{}};
  joined.extents[0] = 0;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    const Activation& x = translation.activation(node, i);
    // One axis of ours is several of theirs: only the first of these may be more than 1.
    const bool is_plain = translation.builder().shape(x.node).rank() == x.extents.size() ||
                          Shape(x.extents).elements() == x.extents[0];
    if (x.flattened_from || !is_plain || x.extents.size() != joined.extents.size()) {
      throw Unsupported{"of values of different shapes"};
    }
    joined.extents[0] += x.extents[0];
    concat.inputs.push_back(x.node);
  }
  joined.grid.reset();
  joined.node = translation.builder().add(node.wished_name(), std::move(concat));
  return joined;
}

}  // namespace nibble::inline foreign
