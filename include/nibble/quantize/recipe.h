// SPDX-License-Identifier: Apache-2.0
// Ways to quantize, by name: options of `nibble quantize` and their values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nibble {

struct RecipeOption {
  std::string name;   // without the dashes
  std::string value;  // as on the command line; "true" of a flag
  std::string where;  // FILE:LINE, for errors
};

std::vector<std::string_view> quantize_recipe_names();  // of the folder recipes/quantize

// By one of these names, or the path of a .toml file with a line an option.
std::vector<RecipeOption> quantize_recipe(std::string_view name_or_path);

}  // namespace nibble
