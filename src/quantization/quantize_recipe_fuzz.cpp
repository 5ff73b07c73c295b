// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text is a recipe of quantization, options of one line each, or throws Error.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/name.h"
#include "core/test_fuzz_target.h"
#include "core/test_support.h"
#include "nibble/core/error.h"
#include "quantization/recipe.h"

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
