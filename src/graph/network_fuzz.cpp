// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text either is a network or throws Error; what is one survives both text forms.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/test_fuzz_target.h"
#include "graph/network_json.h"
#include "nibble/core/error.h"
#include "nibble/graph/network_text.h"

NIBBLE_FUZZ_TARGET(network) {
  using namespace nibble;
  Network network;
  try {
    network = parse_network({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const Error&) {
    return 0;
  }
  // From here on nothing may throw but the limit of products.
  if (parse_network(to_toml(network), "toml") != network) std::abort();
  if (network_from_json(to_json(network), "json") != network) std::abort();
  (void)parameters_of(network);
  try {
    (void)multiply_accumulates(network);
  } catch (const Error&) {
  }
  return 0;
}
