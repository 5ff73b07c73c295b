// SPDX-License-Identifier: Apache-2.0
// Finds units from the end of a network to its beginning.
#include "foreign/onnx/value_units.h"

#include <cmath>

#include "graph/mean_factors.h"
#include "graph/model_parts.h"
#include "graph/parameters.h"

namespace nibble::inline foreign {
namespace {

std::int64_t channels_of(const Shape& shape) {
  return shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
}

Units times(const Units& a, const Units& b) {
  Units product(std::max(a.size(), b.size()));
  for (std::size_t c = 0; c < product.size(); ++c) {
    product[c] = a[a.size() == 1 ? 0 : c] * b[b.size() == 1 ? 0 : c];
  }
  return product;
}

// The unit of a node's input, if its value is to have the unit `own`.
Units unit_before(const Op& op, const Units& own, const Units& factors) {
  if (is<Rescale>(op)) return times(factors, own);
  if (const auto* pool = std::get_if<SumPool>(&op)) {
    return times({parts_of_mean(*pool)}, own);
  }
  if (is_product(op)) return {1};
  return own;
}

}  // namespace

std::optional<CodeFormat> code_format(const Precision& precision) {
  const auto* grid = std::get_if<GridElement>(&precision.format.element);
  const Scaling& scaling = precision.format.scaling;
  const bool has_one_scale =
      scaling.kind == ScaleKind::none ||
      (scaling.kind == ScaleKind::given && scaling.granularity == Granularity::tensor);
  if (grid == nullptr || !grid->is_integer || grid->bits > 8 || !has_one_scale) return {};
  return CodeFormat{.scale = scaling.kind == ScaleKind::given ? scaling.scale : 1.0F,
                    .zero = scaling.zero,
                    .is_signed = grid->is_signed};
}

Units factors_of(const Rescale& op, const std::vector<std::int64_t>& multipliers) {
  Units factors;
  for (const std::int64_t each : multipliers) {
    factors.push_back(std::ldexp(static_cast<double>(each), -static_cast<int>(op.shift)));
  }
  return factors;
}

std::vector<Units> wanted_units(const Model& model) {
  const Network& network = model.network;
  const std::vector<Shape> shapes = infer_shapes(network);
  const std::vector<Parameter> parameters = parameters_of(network);
  std::vector<Units> units(network.nodes.size());
  for (std::size_t i = network.nodes.size(); i-- > 0;) {
    const Node& node = network.nodes[i];
    if (const auto format = code_format(node.value)) units[i] = {double{format->scale}};
    const auto* grid = std::get_if<GridElement>(&node.value.format.element);
    if (grid != nullptr && node.value.format.scaling.kind == ScaleKind::given) {
      units[i] = {double{node.value.format.scaling.scale}};
    }
    if (units[i].empty()) units[i] = {1};
    Units factors;
    if (const auto* rescale = std::get_if<Rescale>(&node.op)) {
      const std::size_t at = find_parameter(parameters, i, "multiplier");
      factors = factors_of(*rescale, integers_of(parameters[at], model.parameters[at]));
      // A channel that is always 0 has any unit.
      for (double& each : factors) each = each > 0 ? each : 1;
    }
    for (const std::size_t input : node.inputs) {
      if (!units[input].empty()) continue;
      Units before = unit_before(node.op, units[i], factors);
      const auto channels = static_cast<std::size_t>(channels_of(shapes[input]));
      if (before.size() > channels && is<Flatten>(node.op)) before.resize(channels);
      if (before.size() == 1 || before.size() == channels) units[input] = std::move(before);
    }
  }
  return units;
}

}  // namespace nibble::inline foreign
