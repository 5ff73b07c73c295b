// SPDX-License-Identifier: Apache-2.0
// All settings that decide the numbers of a run, as JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "epoch_loop/run_settings_text.h"
#include "kernels/accumulate/sum_words.h"
#include "nibble/float_training/recipe.h"

namespace nibble::inline float_training {
namespace {

using Json = nlohmann::ordered_json;

Json optimizer_json(const OptimizerSettings& optimizer) {
  Json json{{"kind", name_of(optimizer.kind)},
            {"rate", optimizer.rate},
            {"weight_decay", optimizer.weight_decay}};
  if (!optimizer.trains_steps) json["trains_steps"] = false;
  if (optimizer.kind == OptimizerKind::sgd) {
    json["momentum"] = optimizer.momentum;
    json["nesterov"] = optimizer.has_nesterov;
  } else {
    json["beta1"] = optimizer.beta1;
    json["beta2"] = optimizer.beta2;
    json["epsilon"] = optimizer.epsilon;
  }
  return json;
}

Json rule_json(const PolicyRule& rule) {
  Json roles = Json::array();
  for (const Role role : rule.roles) roles.push_back(name_of(role));
  Json json{{"role", roles},
            {"layers", rule.layers},
            {"parameters", rule.kinds},
            {"format", to_string(rule.rounding.precision.format)},
            {"rounding", to_string(rule.rounding.precision.rounding)},
            {"overflow", to_string(rule.rounding.precision.overflow)}};
  if (rule.rounding.is_normalized) json["normalize"] = true;
  if (rule.rounding.has_wage_scale) json["layer_scale"] = "wage";
  if (rule.rounding.zeroes_clamped) json["clamped_gradient"] = "zero";
  if (rule.rounding.accumulator) {
    json["method"] = word_of(kSumMethods, rule.rounding.accumulator->method);
    json["order"] = word_of(kSumOrders, rule.rounding.accumulator->order);
    json["chunk"] = rule.rounding.accumulator->chunk;
    json["product_format"] = to_string(rule.rounding.accumulator->product_format);
  }
  return json;
}

Json policy_json(const PrecisionPolicy& policy) {
  Json rules = Json::array();
  for (const PolicyRule& rule : policy.rules) rules.push_back(rule_json(rule));
  return rules;
}

// Names come from files and may be no UTF-8.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const Recipe& recipe) {
  const Json method{{"fast", recipe.is_fast},
                    {"initialization", name_of(recipe.initialization)},
                    {"optimizer", optimizer_json(recipe.optimizer)},
                    {"schedule", to_string(recipe.schedule)}};
  Json numbers{{"policy_name", recipe.policy.name},
               {"policy", policy_json(recipe.policy)},
               {"loss_scale", recipe.policy.loss_scale.start},
               {"loss_scale_dynamic", recipe.policy.loss_scale.is_dynamic},
               {"loss_scale_growth_interval", recipe.policy.loss_scale.growth_interval}};
  if (!recipe.place.empty()) {  // sums of floats depend on who adds them up
    numbers["place"] = recipe.place;
    numbers["wire"] = name_of(recipe.wire);
    numbers["compute"] = name_of(recipe.compute);
  }
  if (recipe.averaging.is_on()) {
    numbers["average_from"] = recipe.averaging.start;
    numbers["average_every"] = recipe.averaging.every;
  }
  return run_settings_json(recipe, text_of(method), text_of(numbers));
}

}  // namespace nibble::inline float_training
