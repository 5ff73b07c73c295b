// SPDX-License-Identifier: Apache-2.0
// The settings of an integer run, told as JSON.
#include <array>
#include <nlohmann/json.hpp>

#include "backend/sgd_law.h"
#include "epoch_loop/run_settings_text.h"
#include "nibble/core/error.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline integer_training {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> kRules = {"exact", "delayed", "frozen"};

Json json_of(const RoundingChoice& choice) {
  return {{"value", name_of(choice.value)},
          {"error", name_of(choice.error)},
          {"gradient", name_of(choice.gradient)}};
}

Json json_of(const ShiftUpdate& rule, const IntegerRecipe& recipe) {
  return {{"mu", to_string(recipe.mu)},
          {"bias_mu", to_string(recipe.bias_mu)},
          {"momentum_sixteenths", rule.momentum},
          {"fraction_bits", rule.fraction_bits},
          {"weight_decay", rule.has_decay}};
}

Json json_of(const SgdUpdate& rule, const IntegerRecipe& recipe) {
  Json told = {{"update", "sgd"},
               {"rate", recipe.rate},
               {"schedule", to_string(recipe.schedule)},
               {"momentum_256ths", rule.momentum},
               {"fraction_bits", rule.fraction_bits},
               {"weight_decay", recipe.weight_decay}};
  // Runs without these go on as they were told; of fewer fraction bits momentum had as few once.
  if (rule.fraction_bits < kStepBits) told["momentum_bits"] = kStepBits;
  if (rule.has_norm_decay) told["decay_norms"] = true;
  if (rule.looks_ahead) told["nesterov"] = true;
  return told;
}

}  // namespace

std::string_view name_of(ShiftRule rule) {
  return kRules[static_cast<std::size_t>(rule)];
}

ShiftRule shift_rule_by_name(std::string_view name) {
  if (name == "exact") return ShiftRule::exact;
  if (name == "delayed") return ShiftRule::delayed;
  throw Error("train", "shifts", "'" + std::string(name) + "'", "exact or delayed");
}

std::string to_json(const IntegerRecipe& recipe) {
  const IntegerOptions& options = recipe.options;
  Json method = {{"arithmetic", "int8"}};
  std::visit([&](const auto& rule) { method.update(json_of(rule, recipe)); }, options.update);
  method.update(Json{
      {"residual_bits", options.residual_bits},
      {"loss_form", options.form == CrossEntropyForm::fractional ? "fractional" : "whole octaves"},
      {"average_from", recipe.average_from},
      {"calibration", recipe.calibration}});
  if (!options.frozen.empty()) method["freeze"] = options.frozen;
  if (options.statistics == FrozenStatistics::running) method["statistics"] = "running";
  Json layers = Json::object();
  for (const auto& [layer, choice] : options.roundings.layers) layers[layer] = json_of(choice);
  const Json numbers = {{"shifts", name_of(options.rule)},
                        {"rounding", json_of(options.roundings.all)},
                        {"rounding_of_layers", layers}};
  return run_settings_json(recipe, method.dump(), numbers.dump());
}

}  // namespace nibble::inline integer_training
