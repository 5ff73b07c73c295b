// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text either is a layer or throws Error; what is one survives its text form.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "core/test_fuzz_target.h"
#include "foreign/layer_directory/layer.h"
#include "nibble/core/error.h"

NIBBLE_FUZZ_TARGET(layer_record) {
  using namespace nibble;
  std::optional<Layer> layer;
  try {
    layer = parse_layer(parse_record({reinterpret_cast<const char*>(data), size}, "fuzz"));
  } catch (const Error&) {
    return 0;
  }
  // From here on nothing may throw.
  const std::string text = to_text(*layer);
  if (parse_layer(parse_record(text, "text")) != *layer) std::abort();
  return 0;
}
