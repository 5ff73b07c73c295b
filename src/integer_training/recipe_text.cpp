// SPDX-License-Identifier: Apache-2.0
// The TOML form of integer recipes; docs/integer-training.md has the keys.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "epoch_loop/run_settings_text.h"
#include "graph/toml_reader.h"
#include "nibble/core/error.h"
#include "nibble/graph/model_file.h"
#include "nibble/integer_training/integer_recipe.h"

namespace nibble::inline integer_training {
namespace {

// A word, where it is there.
template <class Setting, class Read>
void take_word(TomlReader& table, std::string_view key, Setting& setting, const Read& read) {
  if (table.find(key) != nullptr) setting = read_word(table, key, read);
}

template <class Setting>
void take_integer(TomlReader& table, std::string_view key, Setting& setting, IntegerRange range) {
  setting = static_cast<Setting>(table.integer(key, range).value_or(setting));
}

void take_roundings(TomlReader& table, IntegerRoundings& roundings) {
  for (const std::string& rule :
       table.strings("shift_rounding").value_or(std::vector<std::string>())) {
    try {
      take_shift_rounding(rule, roundings);
    } catch (const Error& error) {
      table.fail("shift_rounding", error.what(), input_kind(error));
    }
  }
}

void read_choices(TomlReader& table, IntegerRecipe& recipe) {
  IntegerOptions& options = recipe.options;
  take_word(table, "mu", recipe.mu, parse_mu);
  take_word(table, "bias_mu", recipe.bias_mu, parse_mu);
  take_word(table, "shifts", options.rule, shift_rule_by_name);
  take_word(table, "loss_form", options.form, loss_form_by_name);
  take_roundings(table, options.roundings);
  take_integer(table, "momentum16", options.update.momentum, {.most = kMostMomentum});
  take_integer(table, "fraction_bits", options.update.fraction_bits, {.most = kMostFractionBits});
  take_integer(table, "residual_bits", options.residual_bits, {.most = kMostResidualBits});
  options.update.has_decay = table.boolean("decay").value_or(options.update.has_decay);
  take_integer(table, "calibration", recipe.calibration, {.least = 1, .most = kMostCalibration});
  take_integer(table, "average_from", recipe.average_from, {.least = 0});
  options.frozen = table.strings("freeze").value_or(options.frozen);
}

}  // namespace

CrossEntropyForm loss_form_by_name(std::string_view name) {
  if (name == "fractional") return CrossEntropyForm::fractional;
  if (name == "octaves") return CrossEntropyForm::whole_octaves;
  throw Error("train", "loss form", fmt::format("'{}'", name), "fractional or octaves");
}

IntegerRecipe parse_integer_recipe(std::string_view toml, std::string_view source,
                                   const RecipeChanges& changes) {
  const TomlValue root = parse_toml(toml, source, kRecipeOp);
  TomlReader table(root, source, kRecipeOp);
  IntegerRecipe recipe;
  static_cast<RunSettings&>(recipe) = read_run_settings(table, source, Arithmetic::int8);
  const auto begin_with = [&](const std::string& path) {
    start_from(recipe, read_model(path).model);
  };
  const bool has_start = table.find("start") != nullptr;
  if (changes.start)
    begin_with(*changes.start);
  else if (has_start)
    read_word(table, "start", begin_with);
  recipe.epochs = changes.epochs.value_or(recipe.epochs);
  set_usual_course(recipe);
  read_choices(table, recipe);
  table.finish();
  recipe.options.seed = recipe.seed;
  return recipe;
}

IntegerRecipe load_integer_recipe(std::string_view name_or_path, const RecipeChanges& changes) {
  const RecipeText text = find_recipe(name_or_path);
  return parse_integer_recipe(text.toml, text.source, changes);
}

}  // namespace nibble::inline integer_training
