// SPDX-License-Identifier: Apache-2.0
// The TOML form of integer recipes; docs/integer-training.md has the keys.
#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include "epoch_loop/run_settings_text.h"
#include "epoch_loop/run_training.h"
#include "graph/toml_reader.h"
#include "integer_step/choose_place.h"
#include "nibble/core/error.h"
#include "nibble/graph/model_file.h"
#include "nibble/integer_training/train_integers.h"

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

// Keys of the rule that is not chosen.
void refuse_keys(TomlReader& table, std::initializer_list<std::string_view> keys,
                 std::string_view rule) {
  for (const std::string_view key : keys) {
    if (table.find(key) != nullptr)
      table.fail(key, "it beside another rule", fmt::format("update = \"{}\", which has it", rule));
  }
}

void read_update(TomlReader& table, ShiftUpdate& update, IntegerRecipe& recipe) {
  refuse_keys(table, {"rate", "schedule", "momentum", "nesterov", "weight_decay", "decay_norms"},
              "sgd");
  take_word(table, "mu", recipe.mu, parse_mu);
  take_word(table, "bias_mu", recipe.bias_mu, parse_mu);
  take_integer(table, "momentum16", update.momentum, {.most = kMostMomentum});
  take_integer(table, "fraction_bits", update.fraction_bits, {.most = kMostFractionBits});
  update.has_decay = table.boolean("decay").value_or(update.has_decay);
}

void read_update(TomlReader& table, SgdUpdate& update, IntegerRecipe& recipe) {
  refuse_keys(table, {"mu", "bias_mu", "momentum16", "decay"}, "shift");
  recipe.rate = positive(table, "rate", recipe.rate);
  recipe.weight_decay = positive(table, "weight_decay", recipe.weight_decay, true);
  update.has_norm_decay = table.boolean("decay_norms").value_or(update.has_norm_decay);
  update.looks_ahead = table.boolean("nesterov").value_or(update.looks_ahead);
  take_word(table, "schedule", recipe.schedule,
            [](const std::string& text) { return parse_schedule(text); });
  if (table.find("momentum") != nullptr) update.momentum = in_256ths(share(table, "momentum", 0));
  take_integer(table, "fraction_bits", update.fraction_bits,
               {.least = 1, .most = kMostFractionBits});
}

void read_choices(TomlReader& table, IntegerRecipe& recipe) {
  IntegerOptions& options = recipe.options;
  if (table.find("update") != nullptr)
    read_word(table, "update", [&](const std::string& name) { choose_update(name, recipe); });
  std::visit([&](auto& rule) { read_update(table, rule, recipe); }, options.update);
  take_word(table, "shifts", options.rule, shift_rule_by_name);
  take_word(table, "loss_form", options.form, loss_form_by_name);
  take_word(table, "statistics", options.statistics, statistics_by_name);
  take_roundings(table, options.roundings);
  take_integer(table, "residual_bits", options.residual_bits, {.most = kMostResidualBits});
  take_integer(table, "calibration", recipe.calibration, {.least = 1, .most = kMostCalibration});
  take_integer(table, "average_from", recipe.average_from, {.least = 0});
  options.frozen = table.strings("freeze").value_or(options.frozen);
  if (table.find("place") != nullptr)
    read_word(table, "place", [&](const std::string& text) { choose_place(text, options); });
}

}  // namespace

void choose_update(std::string_view name, IntegerRecipe& recipe) {
  const bool is_sgd = std::holds_alternative<SgdUpdate>(recipe.options.update);
  if (name == "sgd") {
    if (!is_sgd) use_sgd(recipe);
  } else if (name == "shift") {
    if (!is_sgd) return;
    recipe.options.update = ShiftUpdate{};
    recipe.options.roundings.all.gradient = RoundingChoice{}.gradient;
  } else {
    throw Error("train", "update rule", fmt::format("'{}'", name), "shift or sgd");
  }
}

int in_256ths(double momentum) {
  return static_cast<int>(std::lround(momentum * 256));
}

CrossEntropyForm loss_form_by_name(std::string_view name) {
  if (name == "fractional") return CrossEntropyForm::fractional;
  if (name == "octaves") return CrossEntropyForm::whole_octaves;
  throw Error("train", "loss form", fmt::format("'{}'", name), "fractional or octaves");
}

FrozenStatistics statistics_by_name(std::string_view name) {
  if (name == "calibrated") return FrozenStatistics::calibrated;
  if (name == "running") return FrozenStatistics::running;
  throw Error("train", "statistics", fmt::format("'{}'", name), "calibrated or running");
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
  if (changes.epochs)
    recipe.average_from = average_start_within(recipe.average_from, recipe.epochs);
  table.finish();
  recipe.options.seed = recipe.seed;
  return recipe;
}

IntegerRecipe load_integer_recipe(std::string_view name_or_path, const RecipeChanges& changes) {
  const RecipeText text = find_recipe(name_or_path);
  return parse_integer_recipe(text.toml, text.source, changes);
}

}  // namespace nibble::inline integer_training
