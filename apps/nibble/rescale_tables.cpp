// SPDX-License-Identifier: Apache-2.0
// Prints multipliers and shifts.
#include "apps/nibble/verb_parts.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "graph/rescale_factors.h"
#include "tasks/json.h"

namespace nibble {
namespace {

std::string heading_of(const Node& node, const Rescale& rescale) {
  const Scaling& scaling = node.value.format.scaling;
  std::string text = fmt::format("\n{}: {} to {}", node.name, rescale.low, rescale.high);
  if (scaling.kind == ScaleKind::given) {
    text += fmt::format(", scale {:.9g}, zero point {}", scaling.scale, scaling.zero);
  }
  return text + "\n";
}

struct RescaleTable {
  const Node* node = nullptr;
  const Rescale* rescale = nullptr;
  std::vector<NormalizedFactor> factors;  // of every channel, or of all together
};

std::vector<RescaleTable> tables_of(const Model& model) {
  std::vector<RescaleTable> tables;
  const std::vector<Parameter> parameters = parameters_of(model.network);
  for (std::size_t i = 0; i < model.network.nodes.size(); ++i) {
    const Node& node = model.network.nodes[i];
    const auto* rescale = std::get_if<Rescale>(&node.op);
    if (rescale == nullptr) continue;
    tables.push_back({.node = &node, .rescale = rescale, .factors = {}});
    const Tensor& tensor = model.parameters[find_parameter(parameters, i, "multiplier")];
    for (const std::int32_t multiplier : tensor.as<std::int32_t>())
      tables.back().factors.push_back(normalized_factor(multiplier, rescale->shift));
  }
  return tables;
}

double value_of(const NormalizedFactor& factor) {
  return std::ldexp(static_cast<double>(factor.multiplier), factor.shift - 31);
}

}  // namespace

std::string rescale_tables(const Model& model) {
  std::string text =
      "factor = multiplier / 2^31 * 2^shift, multiplier in [2^30, 2^31): CMSIS-NN's convention\n";
  for (const RescaleTable& table : tables_of(model)) {
    text += heading_of(*table.node, *table.rescale);
    text += fmt::format("{:>7} {:>11} {:>6}  {}\n", "channel", "multiplier", "shift", "factor");
    for (std::size_t c = 0; c < table.factors.size(); ++c) {
      const NormalizedFactor& factor = table.factors[c];
      text += fmt::format("{:>7} {:>11} {:>6}  {:.9g}\n",
                          table.rescale->is_per_channel ? std::to_string(c) : "all",
                          factor.multiplier, factor.shift, value_of(factor));
    }
  }
  return text;
}

std::string rescale_tables_json(const Model& model) {
  Json list = Json::array();
  for (const RescaleTable& table : tables_of(model)) {
    const Scaling& scaling = table.node->value.format.scaling;
    const bool has_scale = scaling.kind == ScaleKind::given;
    Json entry{{"name", table.node->name},
               {"low", table.rescale->low},
               {"high", table.rescale->high},
               {"scale", has_scale ? Json(scaling.scale) : Json()},
               {"zero", has_scale ? Json(scaling.zero) : Json()},
               {"is_per_channel", table.rescale->is_per_channel},
               {"multipliers", Json::array()},
               {"shifts", Json::array()},
               {"factors", Json::array()}};
    for (const NormalizedFactor& factor : table.factors) {
      entry["multipliers"].push_back(factor.multiplier);
      entry["shifts"].push_back(factor.shift);
      entry["factors"].push_back(value_of(factor));
    }
    list.push_back(std::move(entry));
  }
  return list.dump(2);
}

}  // namespace nibble
