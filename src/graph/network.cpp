// SPDX-License-Identifier: Apache-2.0
// Finding nodes, and naming them in errors.
#include "nibble/graph/network.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/node_error.h"
#include "nibble/core/error.h"

namespace nibble::inline graph {

bool Precision::is_float32() const {
  return format == Format{};
}

std::size_t output_of(const Network& network) {
  for (std::size_t i = network.nodes.size(); i-- > 0;) {
    if (!is_loss(network.nodes[i].op)) return i;
  }
  throw Error("network", "nodes", "none that answers", "an input at least", ErrorKind::input);
}

const Input& input_of(const Network& network) {
  if (network.nodes.empty() || !is<Input>(network.nodes.front().op)) {
    throw Error("network", "first node",
                network.nodes.empty() ? "none" : name_of(network.nodes.front().op), "input",
                ErrorKind::input);
  }
  return std::get<Input>(network.nodes.front().op);
}

std::size_t find_node(const Network& network, std::string_view name) {
  const auto found = std::find_if(network.nodes.begin(), network.nodes.end(),
                                  [&](const Node& node) { return node.name == name; });
  if (found == network.nodes.end()) {
    throw Error("network", "node", in_quotes(name), "one of " + network.name);
  }
  return static_cast<std::size_t>(found - network.nodes.begin());
}

void fail_node(const Node& node, std::string_view what, std::string_view got,
               std::string_view expected, ErrorKind kind) {
  throw Error("network",
              fmt::format("node {} ({}): {}", in_quotes(node.name), name_of(node.op), what), got,
              expected, kind);
}

}  // namespace nibble::inline graph
