// SPDX-License-Identifier: Apache-2.0
// Recipes as files of TOML, those that come with Nibble among them, and which arithmetic each is
// of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nibble::inline epoch_loop {

enum class Arithmetic : std::uint8_t { float32, int8 };
std::string_view name_of(Arithmetic arithmetic);  // "float", "int8"
Arithmetic arithmetic_by_name(std::string_view name);

struct NamedRecipe {
  std::string_view name;
  std::string_view toml;
};
std::vector<NamedRecipe> named_recipes();

// A name of named_recipes, or the path of a .toml file that has the key `network`.
bool is_recipe(std::string_view name_or_path);

struct RecipeText {
  std::string source;  // for errors
  std::string toml;
};
RecipeText find_recipe(std::string_view name_or_path);

// By the key `arith`; float where it is absent.
Arithmetic arithmetic_of(const RecipeText& recipe);

}  // namespace nibble::inline epoch_loop
