// SPDX-License-Identifier: Apache-2.0
// Networks in TOML, the form that a person writes. docs/networks.md has the grammar.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nibble/graph/network.h"

namespace nibble::inline graph {

// `source` is used in errors, which name line and key.
Network parse_network(std::string_view toml, std::string_view source);
std::string to_toml(const Network& network);  // parse_network gives the same network back

// The networks that come with Nibble, in the order in which a person would list them.
struct NamedNetwork {
  std::string_view name;
  std::string_view toml;
};
std::vector<NamedNetwork> named_networks();

// A name of the above, or the path of a .toml file.
Network load_network(std::string_view name_or_path);

}  // namespace nibble::inline graph
