// SPDX-License-Identifier: Apache-2.0
// Prints multipliers and shifts.
#include "apps/nibble/verb_parts.h"

#include <fmt/format.h>

#include <cmath>

#include "graph/rescale_factors.h"

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

}  // namespace

std::string rescale_tables(const Model& model) {
  std::string text =
      "factor = multiplier / 2^31 * 2^shift, multiplier in [2^30, 2^31): CMSIS-NN's convention\n";
  const std::vector<Parameter> parameters = parameters_of(model.network);
  for (std::size_t i = 0; i < model.network.nodes.size(); ++i) {
    const Node& node = model.network.nodes[i];
    const auto* rescale = std::get_if<Rescale>(&node.op);
    if (rescale == nullptr) continue;
    text += heading_of(node, *rescale);
    text += fmt::format("{:>7} {:>11} {:>6}  {}\n", "channel", "multiplier", "shift", "factor");
    const Tensor& tensor = model.parameters[find_parameter(parameters, i, "multiplier")];
    const std::span<const std::int32_t> multipliers = tensor.as<std::int32_t>();
    for (std::size_t c = 0; c < multipliers.size(); ++c) {
      const NormalizedFactor factor = normalized_factor(multipliers[c], rescale->shift);
      text += fmt::format("{:>7} {:>11} {:>6}  {:.9g}\n",
                          rescale->is_per_channel ? std::to_string(c) : "all", factor.multiplier,
                          factor.shift,
                          std::ldexp(static_cast<double>(factor.multiplier), factor.shift - 31));
    }
  }
  return text;
}

}  // namespace nibble
