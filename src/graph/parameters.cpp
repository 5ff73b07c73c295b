// SPDX-License-Identifier: Apache-2.0
// The tensors that a network needs.
#include "graph/parameters.h"

#include <algorithm>

#include "graph/shapes.h"
#include "nibble/core/error.h"

namespace nibble {
namespace {

void add_parameters(std::vector<Parameter>& list, const Node& node, std::size_t index,
                    const Shape& in) {
  const auto add = [&](std::string_view kind, std::span<const std::int64_t> extents,
                       bool is_trained = true) {
    list.push_back({.name = node.name + "." + std::string(kind),
                    .node = index,
                    .kind = kind,
                    .shape = checked_shape(node, kind, extents),
                    .is_trained = is_trained});
  };
  using Extents = std::initializer_list<std::int64_t>;
  const std::int64_t channels = in.rank() == 0 ? 1 : in[in.rank() - 1];
  if (const auto* conv = std::get_if<Conv2d>(&node.op)) {
    add("weight", Extents{conv->channels, conv->kernel.y, conv->kernel.x, channels / conv->groups});
    if (conv->weight_steps > 0) add("step", Extents{conv->weight_steps});
    if (conv->has_bias) add("bias", Extents{conv->channels});
  } else if (const auto* linear = std::get_if<Linear>(&node.op)) {
    add("weight", Extents{linear->features, channels});
    if (linear->weight_steps > 0) add("step", Extents{linear->weight_steps});
    if (linear->has_bias) add("bias", Extents{linear->features});
  } else if (const auto* rounding = std::get_if<FakeQuantize>(&node.op)) {
    add("step", Extents{rounding->steps});
  } else if (is<Bias>(node.op)) {
    add("bias", Extents{channels});
  } else if (const auto* rescale = std::get_if<Rescale>(&node.op)) {
    const std::int64_t multipliers = rescale->is_per_channel ? channels : 1;
    add("multiplier", Extents{multipliers}, false);
    if (rescale->has_divisor) add("divisor", Extents{multipliers}, false);
  } else if (is<Table>(node.op) || is<SoftmaxTable>(node.op)) {
    add("table", Extents{kTableEntries}, false);
  } else if (is<BatchNorm>(node.op)) {
    add("scale", Extents{channels});
    add("shift", Extents{channels});
    add("mean", Extents{channels}, false);
    add("variance", Extents{channels}, false);
  }
}

}  // namespace

std::vector<Parameter> parameters_of(const Network& network) {
  const std::vector<Shape> shapes = infer_shapes(network);
  std::vector<Parameter> list;
  for (std::size_t i = 1; i < network.nodes.size(); ++i) {
    const Node& node = network.nodes[i];
    add_parameters(list, node, i, shapes[node.inputs.front()]);
  }
  return list;
}

std::size_t first_parameter(std::span<const Parameter> parameters, std::size_t node) {
  const auto found = std::ranges::lower_bound(parameters, node, {}, &Parameter::node);
  return static_cast<std::size_t>(found - parameters.begin());
}

std::size_t find_parameter(std::span<const Parameter> parameters, std::size_t node,
                           std::string_view kind) {
  for (std::size_t p = first_parameter(parameters, node);
       p < parameters.size() && parameters[p].node == node; ++p) {
    if (parameters[p].kind == kind) return p;
  }
  return parameters.size();
}

Model copy_of(const Model& model) {
  Model copy{.network = model.network, .parameters = {}};
  for (const Tensor& each : model.parameters) copy.parameters.push_back(copy_of(each.view()));
  return copy;
}

std::vector<Parameter> checked_parameters(const Model& model) {
  std::vector<Parameter> parameters = parameters_of(model.network);
  if (model.parameters.size() != parameters.size()) {
    throw Error("model", "parameters of " + model.network.name,
                std::to_string(model.parameters.size()), std::to_string(parameters.size()),
                ErrorKind::input);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& tensor = model.parameters[i];
    if (!fits(model.network, parameters[i], tensor)) {
      throw Error("model", "shape of " + parameters[i].name, tensor.shape().to_string(),
                  parameters[i].shape.to_string(), ErrorKind::input);
    }
    if (tensor.data() == nullptr) {
      throw Error("model", parameters[i].name, "no memory", "a tensor", ErrorKind::input);
    }
  }
  return parameters;
}

}  // namespace nibble
