// SPDX-License-Identifier: Apache-2.0
// A recipe of floats or of integers, as the options say.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "nibble/float_training/train.h"
#include "placement/plan.h"
#include "tasks/integer_flags.h"
#include "tasks/train_flags.h"

namespace nibble::inline tasks {

using AnyRecipe = std::variant<Recipe, IntegerRecipe>;

AnyRecipe any_recipe_of(const TrainFlags& flags, const IntegerFlags& integers);
RunSettings& settings_of(AnyRecipe& recipe);
const RunSettings& settings_of(const AnyRecipe& recipe);
std::string json_of(const AnyRecipe& recipe);

// With rules in the place of auto, which it tells where it has planned them. Sums of floats depend
// on who adds them: a run that goes on keeps the rules that it began with.
std::optional<StepPlan> place_run(Recipe& recipe, const TrainOptions& options);
std::optional<StepPlan> place_run(IntegerRecipe& recipe, const TrainOptions& options);

// With rules in the place of auto, as above.
TrainResult train_any(AnyRecipe& recipe, const TrainOptions& options);

}  // namespace nibble::inline tasks
