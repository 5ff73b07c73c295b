// SPDX-License-Identifier: Apache-2.0
// Batch norms, and products whose sums go into one and nowhere else.
#include "graph/batch_norm.h"

#include <algorithm>

namespace nibble::inline graph {
namespace {

bool is_plain_product(const Op& op) {
  if (const auto* conv = std::get_if<Conv2d>(&op)) return !conv->has_bias;
  const auto* linear = std::get_if<Linear>(&op);
  return linear != nullptr && !linear->has_bias;
}

}  // namespace

bool is_normalized_product(const Network& network, std::size_t node) {
  if (!is_plain_product(network.nodes[node].op)) return false;
  std::size_t norms = 0;
  for (const Node& reader : network.nodes) {
    const auto times = std::ranges::count(reader.inputs, node);
    if (times > 0 && !is<BatchNorm>(reader.op)) return false;
    norms += static_cast<std::size_t>(times);
  }
  return norms == 1;
}

bool has_batch_norm(const Network& network) {
  return std::ranges::any_of(network.nodes,
                             [](const Node& node) { return is<BatchNorm>(node.op); });
}

}  // namespace nibble::inline graph
