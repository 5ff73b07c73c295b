// SPDX-License-Identifier: Apache-2.0
// The TOML form of recipes, and those of the folder recipes/; docs/training.md has the grammar.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backend/place_rules.h"
#include "epoch_loop/run_settings_text.h"
#include "float_training/policy_text.h"
#include "graph/toml_reader.h"
#include "nibble/core/error.h"
#include "nibble/float_training/recipe.h"
#include "nibble/graph/model_file.h"

namespace nibble::inline float_training {

namespace {

constexpr std::array<std::string_view, 3> kOptimizers = {"sgd", "adam", "adamw"};
constexpr std::array<std::string_view, 4> kInitializations = {"he", "fan-in", "xavier", "wage"};
constexpr std::array<std::string_view, 4> kWires = {"fp32", "fp16", "bf16", "int8"};
constexpr std::array<std::string_view, 4> kProductTypes = {"fp32", "tf32", "fp16", "bf16"};

template <std::size_t N>
std::size_t place_of(const std::array<std::string_view, N>& words, std::string_view what,
                     std::string_view got) {
  const auto found = std::ranges::find(words, got);
  if (found == words.end())
    throw Error(kRecipeOp, what, fmt::format("'{}'", got),
                fmt::format("{}", fmt::join(words, ", ")));
  return static_cast<std::size_t>(found - words.begin());
}

void read_optimizer(TomlReader& table, OptimizerSettings& optimizer) {
  if (table.find("optimizer") != nullptr)
    optimizer.kind = read_word(table, "optimizer", optimizer_by_name);
  const bool is_sgd = optimizer.kind == OptimizerKind::sgd;
  for (const std::string_view key : {"momentum", "nesterov", "beta1", "beta2", "epsilon"}) {
    const bool is_of_sgd = key == "momentum" || key == "nesterov";
    if (table.find(key) != nullptr && is_of_sgd != is_sgd) {
      table.fail(key, fmt::format("it beside {}", name_of(optimizer.kind)),
                 is_of_sgd ? "sgd, which has it" : "adam or adamw, which have it");
    }
  }
  optimizer.rate = positive(table, "rate", optimizer.kind == OptimizerKind::sgd ? 0.01 : 0.001);
  optimizer.momentum = share(table, "momentum", optimizer.momentum);
  optimizer.has_nesterov = table.boolean("nesterov").value_or(false);
  optimizer.beta1 = share(table, "beta1", optimizer.beta1);
  optimizer.beta2 = share(table, "beta2", optimizer.beta2);
  optimizer.epsilon = positive(table, "epsilon", optimizer.epsilon);
  optimizer.weight_decay = positive(table, "weight_decay", optimizer.weight_decay, true);
}

void read_place(TomlReader& table, Recipe& recipe) {
  if (table.find("place") != nullptr) {
    recipe.place = *table.string("place");
    read_word(table, "place", [](const std::string& text) { return parse_place(text); });
  }
  if (table.find("wire") != nullptr) recipe.wire = read_word(table, "wire", wire_by_name);
  if (table.find("compute") != nullptr)
    recipe.compute = read_word(table, "compute", product_type_by_name);
  for (const char* key : {"wire", "compute"}) {
    if (table.find(key) != nullptr && recipe.place.empty())
      table.fail(key, "it alone", "place beside it");
  }
}

Recipe read_recipe(TomlReader& table, std::string_view source) {
  Recipe recipe;
  static_cast<RunSettings&>(recipe) = read_run_settings(table, source, Arithmetic::float32);
  if (table.find("initialization") != nullptr) {
    recipe.initialization = read_word(table, "initialization", initialization_by_name);
  }
  read_optimizer(table, recipe.optimizer);
  if (table.find("schedule") != nullptr) {
    recipe.schedule =
        read_word(table, "schedule", [](const std::string& text) { return parse_schedule(text); });
  }
  read_place(table, recipe);
  recipe.averaging.start = table.integer("average_from", {.least = 1}).value_or(0);
  recipe.averaging.every = table.integer("average_every", {.least = 0}).value_or(0);
  if (recipe.averaging.every > 0 && !recipe.averaging.is_on())
    table.fail("average_every", "it alone", "average_from beside it");
  recipe.policy = read_policy(table, source);
  recipe.policy.name =
      table.string("policy").value_or(recipe.policy.rules.empty() ? "fp32" : recipe.name);
  if (table.find("start") != nullptr) {
    read_word(table, "start",
              [&](const std::string& path) { start_from(recipe, read_model(path).model); });
  }
  table.finish();
  return recipe;
}

}  // namespace

std::string_view name_of(OptimizerKind kind) {
  return kOptimizers[static_cast<std::size_t>(kind)];
}
OptimizerKind optimizer_by_name(std::string_view name) {
  return static_cast<OptimizerKind>(place_of(kOptimizers, "optimizer", name));
}
std::string_view name_of(Initialization initialization) {
  return kInitializations[static_cast<std::size_t>(initialization)];
}
Initialization initialization_by_name(std::string_view name) {
  return static_cast<Initialization>(place_of(kInitializations, "initialization", name));
}

std::string_view name_of(WireFormat wire) {
  return kWires[static_cast<std::size_t>(wire)];
}
WireFormat wire_by_name(std::string_view name) {
  return static_cast<WireFormat>(place_of(kWires, "wire", name));
}

std::string_view name_of(ProductType type) {
  return kProductTypes[static_cast<std::size_t>(type)];
}
ProductType product_type_by_name(std::string_view name) {
  return static_cast<ProductType>(place_of(kProductTypes, "compute", name));
}

Recipe parse_recipe(std::string_view toml, std::string_view source) {
  const TomlValue root = parse_toml(toml, source, kRecipeOp);
  TomlReader table(root, source, kRecipeOp);
  return read_recipe(table, source);
}

Recipe load_recipe(std::string_view name_or_path) {
  const RecipeText text = find_recipe(name_or_path);
  return parse_recipe(text.toml, text.source);
}

}  // namespace nibble::inline float_training
