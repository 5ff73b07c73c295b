// SPDX-License-Identifier: Apache-2.0
// Conv, Gemm and MatMul with constant weights.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "foreign/onnx/converters.h"
#include "foreign/onnx/strided_copy.h"
#include "foreign/onnx/window.h"

namespace nibble::inline foreign {
namespace {

const Constant& checked_weight(const Constant& weight, std::size_t rank) {
  if (!weight.is_float()) throw Unsupported{"whose weights are no floats"};
  if (weight.shape().rank() != rank) {
    throw Unsupported{fmt::format("with weights of shape {}", weight.shape().to_string())};
  }
  return weight;
}

void scale_by(Tensor& tensor, float factor) {
  if (factor == 1.0F) return;
  for (float& each : tensor.as<float>()) each *= factor;
}

// A product whose weights are integers has their steps, and the format says how many bits.
template <class Product>
Value add_product(Translation& translation, const NodeView& node, std::size_t input, Product op,
                  Tensor weight, const ConstantGrid* grid, std::optional<Tensor> bias) {
  Node product{.name = {}, .op = {}, .inputs = {input}};
  std::vector<Tensor> parameters;
  parameters.push_back(std::move(weight));
  if (grid != nullptr) {
    op.weight_steps = static_cast<std::int64_t>(grid->steps.size());
    product.weight.format = parse_format(grid->bits == 4 ? "int4" : "int8");
    parameters.push_back(copy_of(view_of(std::span<const float>(grid->steps))));
  }
  op.has_bias = bias.has_value();
  if (bias) parameters.push_back(std::move(*bias));
  product.op = op;
  return translation.activation_of(
      translation.builder().add(node.wished_name(), std::move(product), std::move(parameters)));
}

// Null where the weights are plain floats; Unsupported where steps run along another axis, or where
// a quantized value meets weights that are not quantized.
const ConstantGrid* grid_along(const Activation& x, const Constant& weight, std::size_t axis) {
  const ConstantGrid* grid = weight.grid.get();
  if (x.grid && grid == nullptr) {
    throw Unsupported{"of a quantized value, with weights beyond 8 bits with a sign"};
  }
  if (grid != nullptr && grid->steps.size() > 1 && grid->axis != axis) {
    throw Unsupported{"with scales that differ within an output"};
  }
  return grid;
}

const Activation& vector_of(Translation& translation, const NodeView& node) {
  const Activation& x = translation.activation(node, 0);
  if (x.extents.size() != 1) {
    throw Unsupported{fmt::format("of ({}), which is no vector", fmt::join(x.extents, ", "))};
  }
  return x;
}

// On a mean over the whole picture, which Nibble keeps as a vector.
Value convolve_vector(Translation& translation, const NodeView& node, const Activation& x,
                      const Constant& weight, std::optional<Tensor> bias) {
  const Shape& shape = weight.shape();
  if (shape[2] != 1 || shape[3] != 1 || node.integer("group", 1) != 1 || x.extents[1] != 1 ||
      x.extents[2] != 1 || x.flattened_from) {
    throw Unsupported{"of a vector, with more than 1 by 1 weights"};
  }
  Constant matrix = constant_of(reshaped(weight.tensor->view(), Shape{shape[0], shape[1]}));
  matrix.grid = weight.grid;
  Value linear = add_linear(translation, node, x, matrix, true, std::move(bias));
  std::get<Activation>(linear).extents = {shape[0], 1, 1};
  return linear;
}

}  // namespace

Tensor bias_of(Translation& translation, const NodeView& node, const Constant& constant,
               std::int64_t channels) {
  const Shape& shape = constant.shape();
  const std::int64_t last = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
  if (!constant.is_float() || shape.elements() != last || (last != 1 && last != channels)) {
    node.fail("bias", shape.to_string(), fmt::format("{} floats", channels));
  }
  const std::array<std::int64_t, 1> strides{last == 1 ? 0 : 1};
  translation.budget().take(channels);
  return strided_copy(constant.tensor->view(), Shape{channels}, 0, strides);
}

Value add_convolution(Translation& translation, const NodeView& node, const Activation& x,
                      const Constant& weight, std::optional<Tensor> bias) {
  if (x.extents.size() != 3) throw Unsupported{"of what is no picture"};
  const Shape& shape = checked_weight(weight, 4).shape();
  const ConstantGrid* grid = grid_along(x, weight, 0);
  const Extent2 kernel{shape[2], shape[3]};
  if (extent_of(node, "kernel_shape", kernel) != kernel) {
    node.fail("weights", shape.to_string(), "extents of kernel_shape");
  }
  if (translation.builder().shape(x.node).rank() == 1) {
    return convolve_vector(translation, node, x, weight, std::move(bias));
  }
  const std::int64_t groups = node.integer("group", 1);
  if (groups < 1 || shape[1] != x.extents[0] / groups) {
    node.fail("weights", shape.to_string(),
              fmt::format("for {} channels in {} groups", x.extents[0], groups));
  }
  const Window window = window_of(node, x.extents, kernel);
  const bool even = is_even(window, x.extents);
  const std::size_t input = even ? x.node : add_padding(translation, node, x.node, window);
  const Conv2d conv{.channels = shape[0],
                    .kernel = kernel,
                    .stride = window.stride,
                    .padding = even ? window.before : Extent2{0, 0},
                    .dilation = window.dilation,
                    .groups = groups};
  return add_product(translation, node, input, conv, channels_last(weight.tensor->view()), grid,
                     std::move(bias));
}

Value add_linear(Translation& translation, const NodeView& node, const Activation& x,
                 const Constant& weight, bool is_transposed, std::optional<Tensor> bias) {
  const ConstantGrid* grid = grid_along(x, checked_weight(weight, 2), is_transposed ? 0 : 1);
  Tensor matrix = is_transposed
                      ? copy_of(weight.tensor->view())
                      : transposed(weight.tensor->view(), std::array<std::int64_t, 2>{1, 0});
  const std::int64_t features = matrix.shape()[0];
  const std::int64_t inputs = Shape(x.extents).elements();
  if (matrix.shape()[1] != inputs) {
    node.fail("weights", matrix.shape().to_string(), fmt::format("({}, {})", features, inputs));
  }
  if (x.flattened_from) matrix = channels_last(matrix.view(), *x.flattened_from);
  return add_product(translation, node, x.node, Linear{.features = features}, std::move(matrix),
                     grid, std::move(bias));
}

Value convert_conv(Translation& translation, const NodeView& node) {
  const Activation x = translation.activation(node, 0);
  const Constant& weight = checked_weight(translation.constant(node, 1), 4);
  std::optional<Tensor> bias;
  if (node.has_input(2)) {
    bias = bias_of(translation, node, translation.constant(node, 2), weight.shape()[0]);
  }
  return add_convolution(translation, node, x, weight, std::move(bias));
}

Value convert_gemm(Translation& translation, const NodeView& node) {
  const Activation x = vector_of(translation, node);
  if (node.integer("transA", 0) != 0) throw Unsupported{"with transA"};
  const bool is_transposed = node.integer("transB", 0) != 0;
  Constant weight = checked_weight(translation.constant(node, 1), 2);
  if (const float alpha = node.real("alpha", 1); alpha != 1.0F) {
    Tensor scaled = copy_of(weight.tensor->view());
    scale_by(scaled, alpha);
    weight = constant_of(std::move(scaled));
  }
  std::optional<Tensor> bias;
  if (node.has_input(2)) {
    bias = bias_of(translation, node, translation.constant(node, 2),
                   weight.shape()[is_transposed ? 0 : 1]);
    scale_by(*bias, node.real("beta", 1));
  }
  return add_linear(translation, node, x, weight, is_transposed, std::move(bias));
}

Value convert_mat_mul(Translation& translation, const NodeView& node) {
  return add_linear(translation, node, vector_of(translation, node),
                    checked_weight(translation.constant(node, 1), 2), false, {});
}

}  // namespace nibble::inline foreign
