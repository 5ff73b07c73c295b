// SPDX-License-Identifier: Apache-2.0
// Fuzz targets: recipes of integer training and their courses of learning rates.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/test_fuzz_target.h"
#include "nibble/core/error.h"
#include "nibble/integer_training/train_integers.h"

// Any text either is a course of integer learning rates that survives its text form,
// or throws Error.
NIBBLE_FUZZ_TARGET(mu) {
  using namespace nibble;
  MuSchedule schedule;
  try {
    schedule = parse_mu({reinterpret_cast<const char*>(data), size});
  } catch (const Error&) {
    return 0;
  }
  if (parse_mu(to_string(schedule)) != schedule) std::abort();
  for (const std::int64_t epoch : {0, 1, 100, 1'000'000}) (void)schedule.at(epoch);
  return 0;
}

// Any text either is a recipe of integer training or throws Error; what is one has
// settings that can be told.
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
