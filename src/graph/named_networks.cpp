// SPDX-License-Identifier: Apache-2.0
// The networks of the folder networks/, which the build puts into the library, and files beside.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/nearest_name.h"
#include "core/text_file.h"
#include "graph/node_error.h"
#include "nibble/core/error.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline graph {

std::span<const EmbeddedText> network_texts();  // made by nibble_embed_texts

std::vector<NamedNetwork> named_networks() {
  std::vector<NamedNetwork> networks;
  for (const EmbeddedText& each : network_texts()) networks.push_back({each.name, each.text});
  return networks;
}

Network load_network(std::string_view name_or_path) {
  std::vector<std::string> names;
  for (const NamedNetwork& each : named_networks()) {
    if (each.name == name_or_path) return parse_network(each.toml, each.name);
    names.emplace_back(each.name);
  }
  if (name_or_path.ends_with(".toml")) {
    return parse_network(read_text_file(name_or_path, "network"), name_or_path);
  }
  throw Error("network", "network", in_quotes(name_or_path),
              fmt::format("{} or the path of a .toml file{}", fmt::join(names, ", "),
                          perhaps(name_or_path, names)));
}

}  // namespace nibble::inline graph
