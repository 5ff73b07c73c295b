// SPDX-License-Identifier: Apache-2.0
// What works on each number by itself: Relu, Clip, BatchNormalization, and what does nothing.
#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "foreign/onnx/converters.h"

namespace nibble::inline foreign {
namespace {

constexpr float kMostFloat = std::numeric_limits<float>::max();

Value add_point(Translation& translation, const NodeView& node, Op op,
                std::vector<Tensor> parameters = {}) {
  Activation x = translation.activation(node, 0);
  x.grid.reset();
  x.node = translation.builder().add(node.wished_name(),
                                     {.name = {}, .op = std::move(op), .inputs = {x.node}},
                                     std::move(parameters));
  return x;
}

// A bound of Clip: an attribute up to opset 10, then an input.
float bound_of(Translation& translation, const NodeView& node, std::string_view attribute,
               std::size_t input, float otherwise) {
  if (node.has(attribute)) return node.real(attribute, otherwise);
  if (!node.has_input(input)) return otherwise;
  const Constant& constant = translation.constant(node, input);
  if (constant.shape().elements() != 1) {
    node.fail(attribute, constant.shape().to_string(), "one number");
  }
  return to_reals(constant)[0];
}

}  // namespace

Value convert_relu(Translation& translation, const NodeView& node) {
  return add_point(translation, node, Relu{});
}

Value convert_clip(Translation& translation, const NodeView& node) {
  const float low = bound_of(translation, node, "min", 1, -kMostFloat);
  const float high = bound_of(translation, node, "max", 2, kMostFloat);
  if (low <= -kMostFloat && high >= kMostFloat) return translation.value(node, 0);
  if (low == 0.0F && high >= kMostFloat) return add_point(translation, node, Relu{});
  if (low == 0.0F && high == 6.0F) return add_point(translation, node, Relu6{});
  Activation x = translation.activation(node, 0);
  x.clip = std::array{low, high};
  return x;
}

Value convert_batch_norm(Translation& translation, const NodeView& node) {
  if (node.integer("training_mode", 0) != 0) throw Unsupported{"in training mode"};
  const Activation x = translation.activation(node, 0);
  if (x.flattened_from) throw Unsupported{"of a flattened picture"};
  std::vector<Tensor> parameters;
  for (std::size_t i = 1; i <= 4; ++i) {
    const Constant& each = translation.constant(node, i);
    if (!each.is_float() || each.shape() != Shape{x.extents[0]}) {
      node.fail(fmt::format("input {}", i), each.shape().to_string(),
                fmt::format("{} floats", x.extents[0]));
    }
    parameters.push_back(copy_of(each.tensor->view()));
  }
  return add_point(translation, node,
                   BatchNorm{.epsilon = node.real("epsilon", 1e-5F),
                             .momentum = 1 - node.real("momentum", 0.9F)},
                   std::move(parameters));
}

Value convert_identity(Translation& translation, const NodeView& node) {
  return translation.value(node, 0);
}

Value convert_cast(Translation& translation, const NodeView& node) {
  using Proto = onnx::TensorProto;
  const std::int64_t to = node.integer("to", Proto::FLOAT);
  if (to != Proto::FLOAT && to != Proto::FLOAT16 && to != Proto::DOUBLE) {
    throw Unsupported{"to a type that is no float"};
  }
  return translation.value(node, 0);
}

}  // namespace nibble::inline foreign
