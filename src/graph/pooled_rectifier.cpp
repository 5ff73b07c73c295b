// SPDX-License-Identifier: Apache-2.0
// Rectifiers whose values need not be kept for the way back.
#include "graph/pooled_rectifier.h"

#include <algorithm>

namespace nibble::inline graph {
namespace {

bool is_even_pool(const Op& op) {
  const auto* pool = std::get_if<MaxPool>(&op);
  return pool != nullptr && pool->stride.y >= pool->kernel.y && pool->stride.x >= pool->kernel.x;
}

}  // namespace

bool is_pooled_rectifier(const Network& network, std::size_t node) {
  if (!is<Relu>(network.nodes[node].op)) return false;
  const auto reads = [&](const Node& other) {
    return std::ranges::find(other.inputs, node) != other.inputs.end();
  };
  const auto reader = std::ranges::find_if(network.nodes, reads);
  return reader != network.nodes.end() && is_even_pool(reader->op) &&
         std::ranges::count_if(network.nodes, reads) == 1;
}

}  // namespace nibble::inline graph
