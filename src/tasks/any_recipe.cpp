// SPDX-License-Identifier: Apache-2.0
// Calls the trainer that a recipe is for.
#include "tasks/any_recipe.h"

#include "nibble/integer_training/train_integers.h"
#include "tasks/place_step.h"

namespace nibble::inline tasks {

AnyRecipe any_recipe_of(const TrainFlags& flags, const IntegerFlags& integers) {
  check_arithmetic(flags, integers);
  if (is_integer(flags, integers)) return integer_recipe_of(flags, integers);
  return recipe_of(flags);
}

RunSettings& settings_of(AnyRecipe& recipe) {
  return std::visit([](auto& each) -> RunSettings& { return each; }, recipe);
}

std::string json_of(const AnyRecipe& recipe) {
  return std::visit([](const auto& each) { return to_json(each); }, recipe);
}

TrainResult train_any(AnyRecipe& recipe, const TrainOptions& options) {
  std::visit([](auto& each) { place_recipe(each); }, recipe);
  if (const auto* integers = std::get_if<IntegerRecipe>(&recipe))
    return train_integers(*integers, options);
  return train(std::get<Recipe>(recipe), options);
}

}  // namespace nibble::inline tasks
