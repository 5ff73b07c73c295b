// SPDX-License-Identifier: Apache-2.0
// Reads recipes of quantization: those of recipes/quantize are part of the library.
#include "quantization/recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/name.h"
#include "core/text_file.h"
#include "graph/toml_reader.h"
#include "nibble/core/error.h"

namespace nibble::inline quantization {

std::span<const EmbeddedText> quantize_recipe_texts();  // made by nibble_embed_texts

namespace {

constexpr std::string_view kRecipeOp = "quantize";

// What a recipe may say: how to quantize. It names no file, neither to read nor to write: recipes
// come from others.
constexpr std::array<std::string_view, 20> kAllowed = {
    "activations",        "crop",           "edges",      "finetune", "flip",   "form",
    "integer-features",   "learn-rounding", "lr",         "max-loss", "method", "recollect",
    "no-bias-correction", "no-equalize",    "per-tensor", "samples",  "seed",   "target-file",
    "target-size",        "weights"};

std::vector<RecipeOption> parse(std::string_view text, std::string_view source) {
  const TomlValue root = parse_toml(text, source, kRecipeOp);
  TomlReader reader(root, source, kRecipeOp);
  std::vector<RecipeOption> options;
  for (const TomlEntry& entry : std::get<TomlValue::Table>(root.data)) {
    if (std::ranges::find(kAllowed, entry.key) == kAllowed.end()) {
      throw Error(kRecipeOp, fmt::format("{}:{}: key of a recipe", source, entry.value.line),
                  in_quotes(entry.key), fmt::format("one of {}", fmt::join(kAllowed, ", ")),
                  ErrorKind::input);
    }
    RecipeOption option{.name = entry.key, .value = {}};
    if (const auto* flag = std::get_if<bool>(&entry.value.data)) {
      option.value = *flag ? "true" : "false";
    } else if (const auto* integer = std::get_if<std::int64_t>(&entry.value.data)) {
      option.value = fmt::format("{}", *integer);
    } else if (const auto* real = std::get_if<double>(&entry.value.data)) {
      option.value = fmt::format("{}", *real);
    } else if (std::holds_alternative<std::string>(entry.value.data)) {
      option.value = reader.string(entry.key).value();
    } else {
      reader.fail(entry.key, kind_of(entry.value), "a value");
    }
    options.push_back(std::move(option));
  }
  return options;
}

}  // namespace

std::vector<std::string_view> quantize_recipe_names() {
  std::vector<std::string_view> names;
  for (const EmbeddedText& each : quantize_recipe_texts()) names.push_back(each.name);
  return names;
}

std::vector<RecipeOption> quantize_recipe(std::string_view name_or_path) {
  const auto texts = quantize_recipe_texts();
  const auto found = std::ranges::find(texts, name_or_path, &EmbeddedText::name);
  if (found != texts.end()) return parse(found->text, found->name);
  if (!name_or_path.ends_with(".toml")) {
    throw Error(
        kRecipeOp, "recipe", fmt::format("'{}'", name_or_path),
        fmt::format("{} or the path of a .toml file", fmt::join(quantize_recipe_names(), ", ")));
  }
  return parse(read_text_file(name_or_path, kRecipeOp), name_or_path);
}

}  // namespace nibble::inline quantization
