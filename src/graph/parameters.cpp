// SPDX-License-Identifier: Apache-2.0
// The tensors that a network needs, and one hash over those of a model.
#include "graph/parameters.h"

#include <algorithm>
#include <initializer_list>

#include "core/hash.h"
#include "graph/shapes.h"
#include "nibble/core/error.h"

namespace nibble::inline graph {
namespace {

// Lists what a node needs.
class ParameterLister {
 public:
  ParameterLister(std::vector<Parameter>& list, const Node& node, std::size_t index,
                  const Shape& in)
      : list_(list),
        node_(node),
        index_(index),
        channels_(in.rank() == 0 ? 1 : in[in.rank() - 1]) {}

  void operator()(const Conv2d& op) const {
    add("weight", {op.channels, op.kernel.y, op.kernel.x, channels_ / op.groups});
    if (op.weight_steps > 0) add("step", {op.weight_steps});
    if (op.has_bias) add("bias", {op.channels});
  }
  void operator()(const Linear& op) const {
    add("weight", {op.features, channels_});
    if (op.weight_steps > 0) add("step", {op.weight_steps});
    if (op.has_bias) add("bias", {op.features});
  }
  void operator()(const Bias&) const { add("bias", {channels_}); }
  void operator()(const FakeQuantize& op) const { add("step", {op.steps}); }
  void operator()(const Rescale& op) const {
    const std::int64_t multipliers = op.is_per_channel ? channels_ : 1;
    add("multiplier", {multipliers}, false);
    if (op.has_divisor) add("divisor", {multipliers}, false);
  }
  void operator()(const OneOf<Table, SoftmaxTable> auto&) const {
    add("table", {kTableEntries}, false);
  }
  void operator()(const BatchNorm&) const {
    add("scale", {channels_});
    add("shift", {channels_});
    add("mean", {channels_}, false);
    add("variance", {channels_}, false);
  }

  // These need none.
  void operator()(const OneOf<Input, Relu, Relu6, MaxPool, AveragePool, GlobalAveragePool, Add,
                              Concat, Slice, Pad, Flatten, Dropout, SoftmaxCrossEntropy,
                              SquaredError, SumPool, ArgMax> auto&) const {}

 private:
  void add(std::string_view kind, std::initializer_list<std::int64_t> extents,
           bool is_trained = true) const {
    list_.push_back({.name = node_.name + "." + std::string(kind),
                     .node = index_,
                     .kind = kind,
                     .shape = checked_shape(node_, kind, extents),
                     .is_trained = is_trained});
  }

  std::vector<Parameter>& list_;
  const Node& node_;
  std::size_t index_;
  std::int64_t channels_;  // that enter
};

}  // namespace

std::vector<Parameter> parameters_of(const Network& network) {
  const std::vector<Shape> shapes = infer_shapes(network);
  std::vector<Parameter> list;
  for (std::size_t i = 1; i < network.nodes.size(); ++i) {
    const Node& node = network.nodes[i];
    std::visit(ParameterLister(list, node, i, shapes[node.inputs.front()]), node.op);
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

// docs/networks.md has the sequence of bytes.
std::uint64_t weights_hash(const Model& model) {
  constexpr std::string_view kEnd("\0", 1);
  Hasher hasher;
  const std::vector<Parameter> parameters = checked_parameters(model);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& tensor = model.parameters[i];
    hasher.add(parameters[i].name);
    hasher.add(kEnd);
    hasher.add(name_of(tensor.dtype()));
    hasher.add(kEnd);
    hasher.add(tensor.shape().to_string());
    hasher.add(kEnd);
    hasher.add(std::span<const std::byte>(tensor.data(), tensor.bytes()));
  }
  return hasher.value();
}

}  // namespace nibble::inline graph
