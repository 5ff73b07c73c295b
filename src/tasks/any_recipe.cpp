// SPDX-License-Identifier: Apache-2.0
// Calls the trainer that a recipe is for.
#include "tasks/any_recipe.h"

#include <filesystem>

#include "core/text_file.h"
#include "integer_step/choose_place.h"
#include "nibble/integer_training/train_integers.h"
#include "tasks/json.h"
#include "tasks/place_step.h"

namespace nibble::inline tasks {
namespace {

// The rules of the run that goes on; none where there is none, or where it has none.
std::optional<std::string> rules_of_run(const TrainOptions& options) {
  const std::filesystem::path path = options.folder / "settings.json";
  const bool goes_on =
      options.mode == RunFolderMode::resume || options.mode == RunFolderMode::start_or_resume;
  if (!goes_on || !std::filesystem::exists(path)) return std::nullopt;
  const Json settings = Json::parse(read_text_file(path, "train"), nullptr, false);
  if (!settings.is_object() || !settings.contains("place") || !settings["place"].is_string())
    return std::nullopt;
  return settings["place"].get<std::string>();
}

}  // namespace

AnyRecipe any_recipe_of(const TrainFlags& flags, const IntegerFlags& integers) {
  check_arithmetic(flags, integers);
  if (is_integer(flags, integers)) return integer_recipe_of(flags, integers);
  return recipe_of(flags);
}

RunSettings& settings_of(AnyRecipe& recipe) {
  return std::visit([](auto& each) -> RunSettings& { return each; }, recipe);
}

const RunSettings& settings_of(const AnyRecipe& recipe) {
  return std::visit([](const auto& each) -> const RunSettings& { return each; }, recipe);
}

std::string json_of(const AnyRecipe& recipe) {
  return std::visit([](const auto& each) { return to_json(each); }, recipe);
}

std::optional<StepPlan> place_run(Recipe& recipe, const TrainOptions& options) {
  if (is_auto(recipe.place)) recipe.place = rules_of_run(options).value_or(recipe.place);
  return place_recipe(recipe);
}

std::optional<StepPlan> place_run(IntegerRecipe& recipe, const TrainOptions&) {
  return place_recipe(recipe);
}

TrainResult train_any(AnyRecipe& recipe, const TrainOptions& options) {
  std::visit([&](auto& each) { place_run(each, options); }, recipe);
  if (const auto* integers = std::get_if<IntegerRecipe>(&recipe))
    return train_integers(*integers, options);
  return train(std::get<Recipe>(recipe), options);
}

}  // namespace nibble::inline tasks
