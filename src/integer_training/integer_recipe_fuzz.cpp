// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text either is a recipe of integer training or throws Error; what is one has
// settings that can be told.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/test_fuzz_target.h"
#include "nibble/core/error.h"
#include "nibble/integer_training/train_integers.h"

NIBBLE_FUZZ_TARGET(integer_recipe) {
  using namespace nibble;
  IntegerRecipe recipe;
  try {
    recipe = parse_integer_recipe({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const Error&) {
    return 0;
  }
  // From here on nothing may throw but the check of the layers.
  if (to_json(recipe).empty()) std::abort();
  try {
    check_integers(recipe);
  } catch (const Error&) {
  }
  return 0;
}
