// SPDX-License-Identifier: Apache-2.0
// Which values share memory, and how long each must live.
#include "graph/tape_plan.h"

namespace nibble::inline graph {

TapePlan plan_tape(const Network& network, std::span<const LayerNeeds> needs) {
  const std::size_t count = network.nodes.size();
  std::vector<std::size_t> users(count);
  for (const Node& node : network.nodes) {
    for (const std::size_t input : node.inputs) ++users[input];
  }

  TapePlan plan{std::vector<std::size_t>(count), std::vector<std::size_t>(count),
                std::vector<std::size_t>(count), std::vector<bool>(count),
                std::vector<bool>(count)};
  for (std::size_t i = 0; i < count; ++i) {
    plan.home[i] = i;
    const LayerNeeds& layer = needs[i];
    if (!layer.computes) continue;
    const std::vector<std::size_t>& inputs = network.nodes[i].inputs;

    // In place where nobody else reads the first input and nobody needs it again.
    const std::size_t first = inputs[0];
    const LayerNeeds& maker = needs[first];
    if (layer.works_in_place && users[first] == 1 && maker.computes && !maker.keeps_output &&
        !layer.keeps_inputs) {
      plan.home[i] = plan.home[first];
      plan.is_made_again[plan.home[first]] = false;  // it is another value now
    }
    plan.is_made_again[i] = layer.makes_output_again && layer.keeps_inputs;
    plan.wants_error[i] = layer.has_parameters;
    for (const std::size_t input : inputs) {
      if (input != first || plan.home[i] == i) ++plan.readers[plan.home[input]];
      if (layer.keeps_inputs) ++plan.keepers[plan.home[input]];
      if (plan.wants_error[input]) plan.wants_error[i] = true;
    }
    if (layer.keeps_output) ++plan.keepers[plan.home[i]];
  }
  return plan;
}

}  // namespace nibble::inline graph
