// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text either is a recipe or throws Error; what is one has settings that can be
// told, and a finite learning rate at any step.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/test_fuzz_target.h"
#include "nibble/core/error.h"
#include "nibble/float_training/recipe.h"

NIBBLE_FUZZ_TARGET(recipe) {
  using namespace nibble;
  Recipe recipe;
  try {
    recipe = parse_recipe({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const Error&) {
    return 0;
  }
  // From here on nothing may throw but the check of the policy.
  if (to_json(recipe).empty()) std::abort();
  if (recipe.epochs > 0) {
    for (const std::int64_t step : {std::int64_t{0}, std::int64_t{100}, 1000 * recipe.epochs - 1}) {
      const double rate =
          rate_at(recipe.schedule, recipe.optimizer.rate,
                  {.step = step, .steps_per_epoch = 1000, .epochs = recipe.epochs}, PlateauState{});
      if (!std::isfinite(rate) || rate < 0) std::abort();
    }
  }
  try {
    check_policy(recipe.policy, recipe.network);
  } catch (const Error&) {
  }
  return 0;
}
