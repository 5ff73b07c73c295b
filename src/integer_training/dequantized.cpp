// SPDX-License-Identifier: Apache-2.0
// Writes the network of real numbers that a quantized one stands for.
#include "integer_training/dequantized.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "graph/model_writer.h"
#include "graph/node_error.h"
#include "graph/parameters.h"
#include "integer_training/integer_units.h"

namespace nibble::inline integer_training {
namespace {

class RealWriter {
 public:
  explicit RealWriter(const Model& model)
      : from_(model),
        parameters_(checked_parameters(model)),
        units_(units_of_integers(model)),
        to_(model.network) {}

  Model write() {
    for (const Node& node : from_.network.nodes) {
      index_ = places_.size();
      node_ = &node;
      const auto [place, is_positive] = std::visit([&](const auto& op) { return of(op); }, node.op);
      places_.push_back(place);
      is_positive_.push_back(is_positive);
    }
    return to_.finished();
  }

 private:
  struct Value {
    std::size_t place = 0;  // in the new network
    bool is_positive = false;
  };

  bool is_positive() const {
    return !node_->inputs.empty() && std::ranges::all_of(node_->inputs, [&](std::size_t each) {
      return static_cast<bool>(is_positive_[each]);
    });
  }

  std::size_t add(Op op, std::vector<Tensor> tensors = {}) {
    Node node{.name = node_->name, .op = std::move(op)};
    for (const std::size_t each : node_->inputs) node.inputs.push_back(places_[each]);
    return to_.add(std::move(node), std::move(tensors));
  }

  Value of(const Input& op) {
    if (node_->value.format.scaling.kind != ScaleKind::given) {
      fail_node(*node_, "format", "whole numbers without a scale",
                "a scale, as pictures have; start from the float model");
    }
    return {add(op)};
  }
  Value of(const OneOf<Conv2d, Linear> auto& op) {
    const Units& entering = units_[node_->inputs[0]];
    if (entering.size() != 1) {
      fail_node(*node_, "input", "integers of several units", "one that is rounded to one unit");
    }
    std::vector<Tensor> tensors;
    Units of_weights = units_[index_];
    for (double& each : of_weights) each /= entering[0];
    tensors.push_back(real("weight", of_weights));
    if (op.has_bias) tensors.push_back(real("bias", units_[index_]));
    return {add(op, std::move(tensors))};
  }
  Value of(const Bias& op) {
    std::vector<Tensor> tensors;
    tensors.push_back(real("bias", units_[index_]));
    return {add(op, std::move(tensors))};
  }
  Value of(const Relu& op) { return {add(op), true}; }
  Value of(const OneOf<MaxPool, Add, Concat, Slice, Pad, Flatten> auto& op) {
    return {add(op), is_positive()};
  }
  Value of(const SumPool& op) {
    return {add(AveragePool{op.kernel, op.stride, op.padding, op.mean_bits == 0}), is_positive()};
  }
  // A rescale is no operation of real numbers but for its bounds; what it rounded gets its name.
  Value of(const Rescale& op) {
    if (op.low >= 0 && !is_positive())
      return {op.high < most_of(node_->value) ? add(Relu6{}) : add(Relu{}), true};
    const std::size_t place = places_[node_->inputs[0]];
    if (to_.node(place).name == node_->name + ".sum") to_.node(place).name = node_->name;
    return {place, is_positive()};
  }
  Value of(const auto& op) {
    fail_node(*node_, "layer", name_of(Op{op}), "an operation that stands for one of real numbers");
  }

  // The largest integer of a grid, less its zero point; 0 of other formats.
  static std::int64_t most_of(const Precision& precision) {
    const auto* grid = std::get_if<GridElement>(&precision.format.element);
    if (grid == nullptr) return 0;
    return (std::int64_t{1} << (grid->bits - (grid->is_signed ? 1 : 0))) - 1 -
           precision.format.scaling.zero;
  }

  Tensor real(std::string_view kind, const Units& units) const {
    const std::size_t place = find_parameter(parameters_, index_, kind);
    const Parameter& parameter = parameters_[place];
    const Tensor& tensor = from_.parameters[place];
    Tensor result(DType::f32, parameter.shape);
    std::vector<std::int64_t> integers;
    if (kind == "weight")
      std::ranges::copy(weights_of(from_.network, parameter, tensor), std::back_inserter(integers));
    else
      integers = integers_of(parameter, tensor);
    const std::size_t run = integers.size() / static_cast<std::size_t>(parameter.shape[0]);
    for (std::size_t i = 0; i < integers.size(); ++i)
      result.as<float>()[i] =
          static_cast<float>(static_cast<double>(integers[i]) * unit_at(units, i / run));
    return result;
  }

  const Model& from_;
  std::vector<Parameter> parameters_;
  std::vector<Units> units_;
  ModelWriter to_;
  std::vector<std::size_t> places_;  // in the new network, by node of the old one
  std::vector<bool> is_positive_;
  const Node* node_ = nullptr;
  std::size_t index_ = 0;
};

}  // namespace

bool is_quantized(const Network& network) {
  return std::ranges::any_of(network.nodes, [](const Node& node) { return is<Rescale>(node.op); });
}

Model dequantized(const Model& integers) {
  return RealWriter(integers).write();
}

}  // namespace nibble::inline integer_training
