// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text either is a policy or throws Error; what is one either fits a network,
// which then has a text form, or throws Error.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/test_fuzz_target.h"
#include "nibble/core/error.h"
#include "nibble/float_training/policy.h"
#include "nibble/graph/network_text.h"

NIBBLE_FUZZ_TARGET(policy) {
  using namespace nibble;
  static const Network network = load_network("convnet-8x8");
  PrecisionPolicy policy;
  try {
    policy = parse_policy({reinterpret_cast<const char*>(data), size}, "fuzz");
    check_policy(policy, network);
  } catch (const Error&) {
    return 0;
  }
  // From here on nothing may throw.
  const Network rounded = with_formats(network, policy);
  if (parse_network(to_toml(rounded), "toml") != rounded) std::abort();
  return 0;
}
