// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text gives bits of a network's layers that survive their text form, or throws
// Error.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/test_fuzz_target.h"
#include "nibble/core/error.h"
#include "nibble/graph/network_text.h"
#include "quantization/layer_bits_text.h"

NIBBLE_FUZZ_TARGET(layer_bits) {
  using namespace nibble;
  static const Network network = load_network("convnet-8x8");
  std::map<std::string, LayerBits> layers;
  try {
    layers = parse_layer_bits({reinterpret_cast<const char*>(data), size}, "fuzz", network);
  } catch (const Error&) {
    return 0;
  }
  if (parse_layer_bits(layer_bits_text(layers), "copy", network) != layers) std::abort();
  return 0;
}
