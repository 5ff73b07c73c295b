// SPDX-License-Identifier: Apache-2.0
// Where the steps of a run are computed: --place auto becomes rules, and a plan becomes a table.
#pragma once

#include <optional>
#include <string>

#include "nibble/float_training/recipe.h"
#include "nibble/integer_training/train_integers.h"
#include "placement/plan.h"
#include "tasks/json.h"

namespace nibble::inline tasks {

// The plan of a recipe whose place is auto, with its batch; the recipe must be one that
// check_integers takes.
StepPlan plan_of(const IntegerRecipe& recipe, bool uses_cache = true);
StepPlan plan_of(const Recipe& recipe, bool uses_cache = true);

// The recipe with rules in the place of auto; it tells the plan, if there is one.
std::optional<StepPlan> place_recipe(IntegerRecipe& recipe);
std::optional<StepPlan> place_recipe(Recipe& recipe);

// "12.3 ms a step on cpu and cuda, 1.2 MB across: …"
std::string summary_of(const StepPlan& plan);

// Units with their costs and what crosses behind them, then the candidates.
std::string table_of(const StepPlan& plan);
Json json_of(const StepPlan& plan);

}  // namespace nibble::inline tasks
