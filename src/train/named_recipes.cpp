// SPDX-License-Identifier: Apache-2.0
// The recipes of the folder recipes/, which the build puts into the library.
#include "core/embedded_text.h"
#include "nibble/train/recipe.h"

namespace nibble {

std::span<const EmbeddedText> recipe_texts();  // made by nibble_embed_texts

std::vector<NamedRecipe> named_recipes() {
  std::vector<NamedRecipe> recipes;
  for (const EmbeddedText& each : recipe_texts()) recipes.push_back({each.name, each.text});
  return recipes;
}

}  // namespace nibble
