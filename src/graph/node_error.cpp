// SPDX-License-Identifier: Apache-2.0
// Words of the errors about nodes.
#include "graph/node_error.h"

#include <fmt/format.h>

#include "nibble/core/error.h"

namespace nibble {
void fail_node(const Node& node, std::string_view what, std::string_view got,
               std::string_view expected) {
  throw Error("network",
              fmt::format("node {} ({}): {}", in_quotes(node.name), name_of(node.op), what), got,
              expected);
}

std::string_view reason_of(std::string_view what) {
  const std::size_t end = what.starts_with('[') ? what.find("] ") : std::string_view::npos;
  return end == std::string_view::npos ? what : what.substr(end + 2);
}

}  // namespace nibble
