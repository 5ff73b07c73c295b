// SPDX-License-Identifier: Apache-2.0
// Loads a network and gives it a normalization.
#include "bench/network_to_measure.h"

#include "nibble/graph/network_text.h"

namespace nibble {

Network network_to_measure(const std::string& name_or_path, bool has_dropout) {
  Network network = load_network(name_or_path);
  for (Node& node : network.nodes) {
    if (is<Dropout>(node.op) && !has_dropout) node.op = Dropout{.share = 0};
  }
  auto& input = std::get<Input>(network.nodes[0].op);
  const auto channels = static_cast<std::size_t>(input.shape[input.shape.rank() - 1]);
  input.mean.assign(channels, 0.5F);
  input.deviation.assign(channels, 0.25F);
  return network;
}

}  // namespace nibble
