// SPDX-License-Identifier: Apache-2.0
// nibble compare: which settings of runs differ, and what came of it; or how two models answer.
#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "apps/nibble/compare_models.h"
#include "apps/nibble/shared_options.h"
#include "apps/nibble/verb.h"
#include "nibble/core/error.h"
#include "report/comparison.h"
#include "tasks/json.h"

namespace nibble {
namespace {

struct CompareFlags {
  std::vector<std::string> runs;
  std::string data;
  std::string pictures;
  std::int64_t image_size = 0;
  bool is_json = false;
  std::string device = "cpu";
};

Json weights_of(const Comparison& comparison) {
  if (comparison.weights == Comparison::Weights::unknown) return nullptr;
  return comparison.weights == Comparison::Weights::equal;
}

// Every list has one entry a run, null where a run has none.
void print_json(const std::vector<RunRecord>& runs) {
  const Comparison comparison = compare(runs);
  Json json = {{"runs", comparison.runs},         {"different", Json::object()},
               {"equal", Json::object()},         {"results", Json::object()},
               {"weights_hashes", Json::array()}, {"weights_equal", weights_of(comparison)}};
  for (const ComparedSetting& row : comparison.settings) {
    if (row.is_different)
      json["different"][row.key] = row.values;
    else
      json["equal"][row.key] = row.values.front();
  }
  for (const ComparedResult& row : comparison.results) {
    Json& list = json["results"][row.name] = Json::array();
    for (const double value : row.values) {
      list.push_back(std::isnan(value) ? Json() : json_number(value));
    }
  }
  for (const std::string& hash : comparison.weights_hashes) {
    json["weights_hashes"].push_back(hash.empty() ? Json() : Json(hash));
  }
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

bool is_model(const std::string& path) {
  return path.ends_with(".nib") || path.ends_with(".onnx");
}

void run_models(const CompareFlags& flags) {
  if (flags.runs.size() != 2) {
    throw Error("compare", "models", std::to_string(flags.runs.size()), "2");
  }
  if (flags.data.empty()) throw Error("compare", "--data", "nothing", "pictures for the models");
  compare_models({.first = flags.runs[0],
                  .second = flags.runs[1],
                  .data = flags.data,
                  .pictures = flags.pictures,
                  .image_size = flags.image_size,
                  .device = flags.device,
                  .is_json = flags.is_json});
}

void run(const CompareFlags& flags) {
  if (!flags.data.empty() || std::ranges::any_of(flags.runs, is_model)) return run_models(flags);
  const char* of_models = !flags.pictures.empty() ? "--pictures"
                          : flags.image_size != 0 ? "--image-size"
                          : flags.device != "cpu" ? "--device"
                                                  : nullptr;
  if (of_models != nullptr)
    throw Error("compare", of_models, "folders of runs", "two models and --data");
  std::vector<RunRecord> runs;
  for (const std::string& folder : flags.runs) runs.push_back(read_run(folder));
  if (flags.is_json) return print_json(runs);
  fmt::print("{}", comparison_table(runs));
}

}  // namespace

void add_compare(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand(
      "compare", "settings of runs that differ, and their results; answers of two models");
  const auto flags = std::make_shared<CompareFlags>();
  verb.add_option("RUN", flags->runs,
                  "two or more folders that nibble train wrote, or two models: .nib, .onnx")
      ->type_name("")
      ->required()
      ->expected(2, 1 << 20);
  verb.add_option("--data", flags->data,
                  "of models: the test split that both answer, a name or a path");
  verb.add_option("--pictures", flags->pictures,
                  "of models: a page with the pictures on which they differ")
      ->type_name("FILE.html|.svg");
  verb.add_option("--image-size", flags->image_size, "of models: side of the pictures of a folder")
      ->check(CLI::PositiveNumber);
  add_device_option(verb, flags->device);
  verb.add_flag("--json", flags->is_json, "print JSON");
  verb.footer(
      "Examples:\n"
      "  nibble compare runs/fp32 runs/e4m3\n"
      "  nibble compare runs/a runs/b --json | jq .weights_equal\n"
      "  nibble compare resnet20.onnx resnet20-int8.nib --data cifar10 --pictures differ.html");
  verb.callback([flags] { run(*flags); });
}

}  // namespace nibble
