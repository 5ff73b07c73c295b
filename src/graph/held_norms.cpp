// SPDX-License-Identifier: Apache-2.0
// Which frozen batch norms of a model answer too near to 0.
#include <fmt/format.h>

#include <string_view>

#include "graph/batch_norm.h"

namespace nibble::inline graph {

std::vector<HeldNorm> held_norms(const Model& model) {
  const std::vector<Parameter> parameters = parameters_of(model.network);
  const auto tensor_of = [&](std::size_t node, std::string_view kind) -> const Tensor& {
    return model.parameters[find_parameter(parameters, node, kind)];
  };
  std::vector<HeldNorm> held;
  for (std::size_t i = 0; i < model.network.nodes.size(); ++i) {
    const Node& node = model.network.nodes[i];
    if (!is<BatchNorm>(node.op)) continue;
    const NormTensors norm{.scale = tensor_of(i, "scale"),
                           .shift = tensor_of(i, "shift"),
                           .mean = tensor_of(i, "mean"),
                           .variance = tensor_of(i, "variance")};
    if (!fault_of(norm).empty()) continue;
    const bool has_sums = is_normalized_product(model.network, node.inputs[0]);
    const Tensor* weight = has_sums ? &tensor_of(node.inputs[0], "weight") : nullptr;
    if (has_sums && weight->dtype() != DType::i8) continue;
    const std::int64_t channels = held_channels(norm, weight);
    if (channels > 0) held.push_back({node.name, channels});
  }
  return held;
}

std::string held_norms_warning(const std::vector<HeldNorm>& held) {
  std::int64_t channels = 0;
  std::string names;
  for (const HeldNorm& each : held) {
    channels += each.channels;
    names += fmt::format("{}{}: {}", names.empty() ? "" : ", ", each.name, each.channels);
  }
  if (channels == 0) return {};
  return fmt::format(
      "{} channel{} of batch norms ({}) with a frozen bias held at 2^30: answers too near to 0",
      channels, channels == 1 ? "" : "s", names);
}

}  // namespace nibble::inline graph
