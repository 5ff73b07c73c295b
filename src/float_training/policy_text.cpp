// SPDX-License-Identifier: Apache-2.0
// The TOML form of policies; docs/training.md has the grammar.
#include "float_training/policy_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "core/name.h"
#include "graph/layer_text.h"
#include "kernels/accumulate/sum_words.h"
#include "nibble/core/error.h"

namespace nibble::inline float_training {
namespace {

constexpr std::string_view kOp = "policy";
constexpr std::array<std::string_view, 4> kKinds = {"weight", "bias", "scale", "shift"};
constexpr WordTable<bool, 2> kClampedGradients = {{{false, "pass"}, {true, "zero"}}};
constexpr WordTable<bool, 2> kLayerScales = {{{false, "none"}, {true, "wage"}}};

// A word, or a list of words.
std::vector<std::string> words_of(TomlReader& table, std::string_view key) {
  const TomlValue* value = table.find(key);
  if (value == nullptr) return {};
  if (std::holds_alternative<TomlValue::Array>(value->data)) return *table.strings(key);
  return {*table.string(key)};
}

// The first where the key is not there.
template <class Enum, std::size_t kCount>
Enum read_choice(TomlReader& table, std::string_view key, const WordTable<Enum, kCount>& words) {
  const std::optional<std::string> got = table.string(key);
  if (!got) return words.front().first;
  const std::optional<Enum> value = value_of(words, *got);
  if (!value) table.fail(key, "'" + *got + "'", list_of(words));
  return *value;
}

Accumulator read_accumulator(TomlReader& table, const Precision& precision) {
  Accumulator accumulator = accumulator_of(precision.format);
  accumulator.rounding = precision.rounding;
  accumulator.overflow = precision.overflow;
  if (const auto text = table.string("product_format")) {
    try {
      accumulator.product_format = parse_format(*text);
    } catch (const Error& error) {
      table.fail("product_format", error.reason(), input_kind(error));
    }
  }
  accumulator.method = read_choice(table, "method", kSumMethods);
  accumulator.order = read_choice(table, "order", kSumOrders);
  accumulator.chunk =
      static_cast<int>(table.integer("chunk", {.least = 0, .most = 1 << 20}).value_or(0));
  return accumulator;
}

PolicyRule read_rule(TomlReader& table) {
  PolicyRule rule;
  for (const std::string& word : words_of(table, "role")) {
    try {
      rule.roles.push_back(role_by_name(word));
    } catch (const Error& error) {
      table.fail("role", error.reason(), input_kind(error));
    }
  }
  if (rule.roles.empty()) table.fail("role", "nothing", "a role or a list of roles");
  rule.layers = table.string("layers").value_or("*");
  if (table.find("parameters") != nullptr) rule.kinds = words_of(table, "parameters");
  if (rule.kinds == std::vector<std::string>{"all"})
    rule.kinds.assign(kKinds.begin(), kKinds.end());
  for (const std::string& kind : rule.kinds) {
    if (std::ranges::find(kKinds, kind) == kKinds.end()) {
      table.fail("parameters", "'" + kind + "'", fmt::format("{} or all", fmt::join(kKinds, ", ")));
    }
  }
  if (table.find("format") == nullptr)
    table.fail("format", "nothing", "a format, as 'nibble formats' lists them");
  rule.rounding.precision = read_precision(table, "");
  rule.rounding.is_normalized = table.boolean("normalize").value_or(false);
  rule.rounding.zeroes_clamped = read_choice(table, "clamped_gradient", kClampedGradients);
  if (rule.rounding.zeroes_clamped &&
      rule.rounding.precision.format.scaling.kind != ScaleKind::none) {
    table.fail("clamped_gradient", "zero with a format whose range follows the data", "pass");
  }
  rule.rounding.has_wage_scale = read_choice(table, "layer_scale", kLayerScales);
  const bool is_accumulator = std::ranges::find(rule.roles, Role::accumulator) != rule.roles.end();
  if (is_accumulator && rule.roles.size() > 1)
    table.fail("role", "accumulator beside others", "a rule of its own");
  if (is_accumulator && rule.rounding.precision.format.scaling.kind != ScaleKind::none) {
    table.fail("format", to_string(rule.rounding.precision.format), "a format without scales");
  }
  const auto needs = [&](std::string_view key, Role role) {
    if (table.find(key) != nullptr && rule.roles != std::vector{role}) {
      table.fail(key, "another role beside it", fmt::format("role = \"{}\"", name_of(role)));
    }
  };
  needs("clamped_gradient", Role::activation);
  needs("layer_scale", Role::weight);
  if (rule.rounding.zeroes_clamped && rule.rounding.is_normalized) {
    table.fail("clamped_gradient", "normalize beside it", "one of the two");
  }
  if (is_accumulator) rule.rounding.accumulator = read_accumulator(table, rule.rounding.precision);
  table.finish();
  return rule;
}

// A number, or a table.
LossScale read_loss_scale(TomlReader& table, std::string_view source) {
  LossScale scale;
  const TomlValue* value = table.find("loss_scale");
  if (value == nullptr) return scale;
  if (!std::holds_alternative<TomlValue::Table>(value->data)) {
    scale.start = *table.number("loss_scale");
  } else {
    TomlReader inner(*value, source, kOp, "loss_scale.");
    scale.start = inner.number("start").value_or(65536);
    scale.is_dynamic = inner.boolean("dynamic").value_or(true);
    scale.growth_interval = inner.integer("growth_interval", {.least = 1}).value_or(2000);
    inner.finish();
  }
  if (!(scale.start > 0) || scale.start > 1e30)
    table.fail("loss_scale", fmt::format("{}", scale.start), "a number above 0, up to 1e30");
  return scale;
}

}  // namespace

PrecisionPolicy read_policy(TomlReader& table, std::string_view source) {
  PrecisionPolicy policy;
  policy.loss_scale = read_loss_scale(table, source);
  const TomlValue* rules = table.find("round");
  if (rules == nullptr) return policy;
  const auto* list = std::get_if<TomlValue::Array>(&rules->data);
  if (list == nullptr) table.fail("round", kind_of(*rules), "tables [[round]]");
  for (std::size_t i = 0; i < list->size(); ++i) {
    if (!std::holds_alternative<TomlValue::Table>((*list)[i].data))
      table.fail("round", kind_of((*list)[i]), "tables [[round]]");
    TomlReader rule((*list)[i], source, kOp, fmt::format("round[{}].", i));
    policy.rules.push_back(read_rule(rule));
    const TomlValue* layers = rule.find("layers");
    const unsigned line = layers != nullptr ? layers->line : rule.line();
    policy.rules.back().place = fmt::format("{}:{}: round[{}].layers", source, line, i);
  }
  return policy;
}

PrecisionPolicy parse_policy(std::string_view toml, std::string_view source) {
  const TomlValue root = parse_toml(toml, source, kOp);
  TomlReader table(root, source, kOp);
  const std::string name =
      table.string("name").value_or(well_formed(std::filesystem::path(source).stem().string()));
  PrecisionPolicy policy = read_policy(table, source);
  policy.name = name;
  table.finish();
  return policy;
}

}  // namespace nibble::inline float_training
