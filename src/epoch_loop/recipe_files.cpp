// SPDX-License-Identifier: Apache-2.0
// Recipes by name or path.
#include "nibble/epoch_loop/recipe_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text_file.h"
#include "epoch_loop/run_settings_text.h"
#include "graph/toml_reader.h"
#include "nibble/core/error.h"

namespace nibble::inline epoch_loop {

std::span<const EmbeddedText> recipe_texts();  // made by nibble_embed_texts

std::string_view name_of(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::int8 ? "int8" : "float";
}

Arithmetic arithmetic_by_name(std::string_view name) {
  for (const Arithmetic each : {Arithmetic::float32, Arithmetic::int8}) {
    if (name == name_of(each)) return each;
  }
  throw Error(kRecipeOp, "arithmetic", fmt::format("'{}'", name), "float or int8");
}

std::vector<NamedRecipe> named_recipes() {
  std::vector<NamedRecipe> recipes;
  for (const EmbeddedText& each : recipe_texts()) recipes.push_back({each.name, each.text});
  return recipes;
}

bool is_recipe(std::string_view name_or_path) {
  if (std::ranges::any_of(named_recipes(),
                          [&](const NamedRecipe& each) { return each.name == name_or_path; }))
    return true;
  if (!name_or_path.ends_with(".toml")) return false;
  const TomlValue root =
      parse_toml(read_text_file(name_or_path, kRecipeOp), name_or_path, kRecipeOp);
  return TomlReader(root, name_or_path, kRecipeOp).find("network") != nullptr;
}

RecipeText find_recipe(std::string_view name_or_path) {
  std::string names;
  for (const NamedRecipe& each : named_recipes()) {
    if (each.name == name_or_path) return {std::string(each.name), std::string(each.toml)};
    names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
  }
  if (!name_or_path.ends_with(".toml")) {
    throw Error(kRecipeOp, "recipe", fmt::format("'{}'", name_or_path),
                names + " or the path of a .toml file");
  }
  return {std::string(name_or_path), read_text_file(name_or_path, kRecipeOp)};
}

Arithmetic arithmetic_of(const RecipeText& recipe) {
  const TomlValue root = parse_toml(recipe.toml, recipe.source, kRecipeOp);
  TomlReader table(root, recipe.source, kRecipeOp);
  return read_arithmetic(table);
}

}  // namespace nibble::inline epoch_loop
