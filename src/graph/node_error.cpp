// SPDX-License-Identifier: Apache-2.0
// Words of the errors about nodes.
#include "graph/node_error.h"

#include <fmt/format.h>

namespace nibble::inline graph {

void fail_node(const Node& node, std::string_view what, std::string_view got,
               std::string_view expected, ErrorKind kind) {
  throw Error("network",
              fmt::format("node {} ({}): {}", in_quotes(node.name), name_of(node.op), what), got,
              expected, kind);
}

}  // namespace nibble::inline graph
