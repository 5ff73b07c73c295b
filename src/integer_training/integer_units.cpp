// SPDX-License-Identifier: Apache-2.0
// Finds the units of integers: with the values from what formats say, then back from those who
// read.
#include "integer_training/integer_units.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/mean_factors.h"
#include "graph/node_error.h"
#include "graph/parameters.h"

namespace nibble::inline integer_training {
namespace {

template <class Op>
concept Moves = OneOf<Op, Relu, MaxPool, Bias, Add, Slice, Pad>;  // one unit before and after

Units times(Units units, double factor) {
  for (double& each : units) each *= factor;
  return units;
}

Units divided(Units units, double divisor) {
  for (double& each : units) each /= divisor;
  return units;
}

std::size_t last_extent(const Shape& shape) {
  return static_cast<std::size_t>(shape[shape.rank() - 1]);
}

// Units go with the values from what formats say, then back from those who read: a product's sums
// count in what the rescale behind them makes of them.
class UnitFinder {
 public:
  explicit UnitFinder(const Model& model)
      : model_(model),
        parameters_(checked_parameters(model)),
        shapes_(infer_shapes(model.network)) {}

  std::vector<Units> found() {
    const std::vector<Node>& nodes = model_.network.nodes;
    for (const Node& node : nodes) {
      index_ = units_.size();
      units_.push_back(std::visit([&](const auto& op) { return onward(node, op); }, node.op));
    }
    for (index_ = nodes.size(); index_-- > 0;) {
      for (std::size_t k = 0; k < nodes[index_].inputs.size(); ++k) {
        Units& units = units_[nodes[index_].inputs[k]];
        if (units.empty() && !units_[index_].empty())
          units = std::visit([&](const auto& op) { return back(op, k); }, nodes[index_].op);
      }
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) check(nodes[i], units_[i]);
    return std::move(units_);
  }

 private:
  const Units& input() const { return units_[model_.network.nodes[index_].inputs[0]]; }

  // From the inputs, where they are known.
  Units onward(const Node& node, const auto& op) {
    const Scaling& scaling = node.value.format.scaling;
    if (scaling.kind == ScaleKind::given) return {double{scaling.scale}};
    return node.inputs.empty() ? Units{} : of_inputs(node, op);
  }
  Units of_inputs(const Node& node, const Moves auto&) {
    for (const std::size_t each : node.inputs)
      if (!units_[each].empty()) return units_[each];
    return {};
  }
  Units of_inputs(const Node&, const Rescale& op) {
    if (input().empty()) return {};
    Units factors = factors_of(op);
    Units result(std::max(factors.size(), input().size()));
    for (std::size_t c = 0; c < result.size(); ++c)
      result[c] = unit_at(input(), c) / unit_at(factors, c);
    return result;
  }
  Units of_inputs(const Node&, const SumPool& op) { return divided(input(), parts_of_mean(op)); }
  Units of_inputs(const Node&, const Flatten&) {
    Units units = input();
    if (units.size() <= 1) return units;
    const auto elements = static_cast<std::size_t>(shapes_[index_].elements());
    while (units.size() < elements) units.insert(units.end(), input().begin(), input().end());
    return units;
  }
  Units of_inputs(const Node& node, const Concat&) {
    Units units;
    for (const std::size_t each : node.inputs) {
      if (units_[each].empty()) return {};
      for (std::size_t c = 0; c < last_extent(shapes_[each]); ++c)
        units.push_back(unit_at(units_[each], c));
    }
    const bool is_one = std::ranges::all_of(units, [&](double each) { return each == units[0]; });
    return is_one ? Units{units[0]} : units;
  }
  Units of_inputs(const Node&, const auto&) { return {}; }

  // Of input k, from the unit of the node that reads it.
  Units back(const Moves auto&, std::size_t) { return units_[index_]; }
  Units back(const Rescale& op, std::size_t) {
    Units result = factors_of(op);
    const Units& units = units_[index_];
    if (result.size() < units.size()) result.assign(units.size(), result[0]);
    for (std::size_t c = 0; c < result.size(); ++c) result[c] *= unit_at(units, c);
    return result;
  }
  Units back(const SumPool& op, std::size_t) { return times(units_[index_], parts_of_mean(op)); }
  Units back(const Flatten&, std::size_t) {
    Units units = units_[index_];
    if (units.size() > 1)
      units.resize(last_extent(shapes_[model_.network.nodes[index_].inputs[0]]));
    return units;
  }
  Units back(const Concat&, std::size_t k) {
    const Node& node = model_.network.nodes[index_];
    std::size_t first = 0;
    for (std::size_t i = 0; i < k; ++i) first += last_extent(shapes_[node.inputs[i]]);
    Units units;
    for (std::size_t c = 0; c < last_extent(shapes_[node.inputs[k]]); ++c)
      units.push_back(unit_at(units_[index_], first + c));
    return units;
  }
  Units back(const auto&, std::size_t) { return {}; }

  Units factors_of(const Rescale& op) const {
    const std::size_t place = find_parameter(parameters_, index_, "multiplier");
    Units factors;
    for (const std::int64_t each : integers_of(parameters_[place], model_.parameters[place]))
      factors.push_back(std::ldexp(static_cast<double>(each), -static_cast<int>(op.shift)));
    return factors;
  }

  static void check(const Node& node, const Units& units) {
    if (!units.empty() &&
        std::ranges::all_of(units, [](double each) { return std::isfinite(each) && each >= 0; }))
      return;
    fail_node(node, "unit of its integers", "none that follows from the scales of formats",
              "what nibble quantize wrote; its --fake twin or the float model goes, too");
  }

  const Model& model_;
  std::vector<Parameter> parameters_;
  std::vector<Shape> shapes_;
  std::vector<Units> units_;  // by node
  std::size_t index_ = 0;
};

}  // namespace

std::vector<Units> units_of_integers(const Model& model) {
  return UnitFinder(model).found();
}

}  // namespace nibble::inline integer_training
