// SPDX-License-Identifier: Apache-2.0
// The TOML and JSON forms of run settings; docs/training.md has the grammar.
#include "epoch_loop/run_settings_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/hash.h"
#include "core/name.h"
#include "nibble/core/error.h"
#include "nibble/graph/network_text.h"
#include "run_folder/checkpoint.h"

namespace nibble::inline epoch_loop {
namespace {

using Json = nlohmann::ordered_json;

void read_augment(TomlReader& table, AugmentOptions& augment) {
  augment.padding =
      static_cast<std::int32_t>(table.integer("crop", {.least = 0, .most = 1024}).value_or(0));
  augment.has_flip = table.boolean("flip").value_or(false);
  augment.cutout =
      static_cast<std::int32_t>(table.integer("cutout", {.least = 0, .most = 1024}).value_or(0));
}

// Of the input, one a channel; also as floats finite, and deviations above 0.
std::vector<float> moments(TomlReader& table, std::string_view key, double least) {
  std::vector<float> values;
  for (const double x : table.numbers(key).value_or(std::vector<double>())) {
    if (!(x >= least && x <= 1e30))
      table.fail(key, fmt::format("{}", x), fmt::format("numbers from {} to 1e30", least));
    values.push_back(static_cast<float>(x));
  }
  return values;
}

}  // namespace

void smooth_labels(Network& network, double share) {
  auto* loss = std::get_if<SoftmaxCrossEntropy>(&network.nodes.back().op);
  if (loss == nullptr) {
    throw Error(kRecipeOp, "smoothing of labels", std::string(name_of(network.nodes.back().op)),
                "a network that ends in softmax_cross_entropy");
  }
  loss->smoothing = static_cast<float>(share);
}

double positive(TomlReader& table, std::string_view key, double otherwise, bool may_be_zero) {
  const double value = table.number(key).value_or(otherwise);
  if (!(value > 0 || (may_be_zero && value == 0)) || value > 1e9) {
    table.fail(key, fmt::format("{}", value), may_be_zero ? "a number from 0" : "a number above 0");
  }
  return value;
}

double share(TomlReader& table, std::string_view key, double otherwise) {
  const double value = table.number(key).value_or(otherwise);
  if (!(value >= 0 && value < 1)) table.fail(key, fmt::format("{}", value), "0 or more, below 1");
  return value;
}

Arithmetic read_arithmetic(TomlReader& table) {
  if (table.find("arith") == nullptr) return Arithmetic::float32;
  return read_word(table, "arith", arithmetic_by_name);
}

RunSettings read_run_settings(TomlReader& table, std::string_view source, Arithmetic expected) {
  if (const Arithmetic got = read_arithmetic(table); got != expected)
    table.fail("arith", name_of(got), fmt::format("a recipe of {}", name_of(expected)));
  RunSettings settings;
  settings.name =
      table.string("name").value_or(well_formed(std::filesystem::path(source).stem().string()));
  check_name_length(kRecipeOp, "name", settings.name);
  settings.summary = table.string("summary").value_or("");
  settings.follows = table.string("follows").value_or("");
  if (table.find("network") == nullptr)
    table.fail("network", "nothing", "a name or the path of a .toml file");
  settings.network =
      read_word(table, "network", [](const std::string& name) { return load_network(name); });
  settings.data = table.string("data").value_or("");
  settings.image_size = table.integer("image_size", {.least = 0, .most = 65536}).value_or(0);
  settings.skips_broken = table.boolean("skip_broken").value_or(false);
  settings.mean = moments(table, "mean", -1e30);
  settings.deviation = moments(table, "deviation", 1e-30);
  read_augment(table, settings.augment);
  if (table.find("smoothing") != nullptr)
    smooth_labels(settings.network, share(table, "smoothing", 0));
  settings.epochs =
      table.integer("epochs", {.least = 0, .most = 1'000'000}).value_or(settings.epochs);
  settings.batch = table.integer("batch", {.least = 1, .most = 1'000'000}).value_or(settings.batch);
  settings.seed = static_cast<std::uint64_t>(table.integer("seed", {.least = 0}).value_or(1));
  settings.validation = positive(table, "validation", 0, true);
  settings.early_stopping.patience = table.integer("patience", {.least = 0}).value_or(0);
  return settings;
}

std::string run_settings_json(const RunSettings& settings, std::string_view method,
                              std::string_view numbers) {
  Json json{{"recipe", settings.name},
            {"network", settings.network.name},
            {"network_digest", digest_of(to_toml(settings.network))},
            {"data", settings.data},
            {"image_size", settings.image_size},
            {"seed", settings.seed},
            {"epochs", settings.epochs},
            {"batch", settings.batch}};
  if (!settings.data_hash.empty()) json["data_hash"] = settings.data_hash;
  if (!settings.test_hash.empty()) json["test_hash"] = settings.test_hash;
  json.update(Json::parse(method));
  if (settings.start) json["start"] = hex(weights_hash(*settings.start));
  json["augment"] = {{"crop", settings.augment.padding},
                     {"flip", settings.augment.has_flip},
                     {"cutout", settings.augment.cutout}};
  json["mean"] = input_of(settings.network).mean;
  json["deviation"] = input_of(settings.network).deviation;
  json["validation"] = settings.validation;
  json.update(Json::parse(numbers));
  if (settings.early_stopping.patience > 0) json["patience"] = settings.early_stopping.patience;
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace nibble::inline epoch_loop
