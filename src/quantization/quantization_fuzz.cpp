// SPDX-License-Identifier: Apache-2.0
// Fuzz targets: recipes of quantization, bits of layers.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/name.h"
#include "core/test_fuzz_target.h"
#include "core/test_support.h"
#include "nibble/core/error.h"
#include "nibble/graph/network_text.h"
#include "quantization/layer_bits_text.h"
#include "quantization/recipe.h"

// Any text gives bits of a network's layers that survive their text form, or throws
// Error.
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

// Any text is a recipe of quantization, options of one line each, or throws Error.
NIBBLE_FUZZ_TARGET(quantize_recipe) {
  using namespace nibble;
  static const TemporaryFolder folder;
  const auto path = folder.put("fuzz.toml", {reinterpret_cast<const char*>(data), size});
  try {
    for (const RecipeOption& option : quantize_recipe(path.string())) {
      if (option.name.empty() || !is_printable(option.value)) std::abort();
    }
  } catch (const Error&) {
  }
  return 0;
}
