// SPDX-License-Identifier: Apache-2.0
// Ways to quantize, by name: options of `nibble quantize` and their values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nibble::inline quantization {

struct RecipeOption {
  std::string name;   // without the dashes
  std::string value;  // as on the command line; "true" of a flag
};

std::vector<std::string_view> quantize_recipe_names();  // of the folder recipes/quantize

// By one of these names, or the path of a .toml file with a line an option. Options that name files
// are refused, as unknown ones are: a recipe says how to quantize, not what or where.
std::vector<RecipeOption> quantize_recipe(std::string_view name_or_path);

}  // namespace nibble::inline quantization
