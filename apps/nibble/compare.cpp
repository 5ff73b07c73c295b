// SPDX-License-Identifier: Apache-2.0
// nibble compare: which settings of runs differ, and what came of it; or how two models answer.
#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "apps/nibble/verb.h"
#include "nibble/core/error.h"
#include "report/comparison.h"
#include "tasks/compare_models.h"
#include "tasks/json.h"
#include "tasks/open_model.h"
#include "tasks/shared_options.h"

namespace nibble {
namespace {

constexpr std::size_t kMostListed = 20;

struct CompareFlags {
  std::vector<std::string> runs;
  std::string data;
  std::string pictures;
  std::int64_t image_size = 0;
  bool is_json = false;
  std::string device = "cpu";
};

bool is_model(const std::string& path) {
  return path.ends_with(".nib") || path.ends_with(".onnx");
}

void print_list(const std::vector<DifferentPicture>& list, const Dataset& data) {
  fmt::print("\n{:>7}  {:<12} {:<12} {:<12}\n", "picture", "label", "first", "second");
  for (std::size_t i = 0; i < std::min(kMostListed, list.size()); ++i) {
    fmt::print("{:>7}  {:<12} {:<12} {:<12}\n", list[i].index, class_name(data, list[i].label),
               class_name(data, list[i].first), class_name(data, list[i].second));
  }
  if (list.size() > kMostListed)
    fmt::print("and {} more: --json has all\n", list.size() - kMostListed);
}

void run_models(const CompareFlags& flags) {
  if (flags.runs.size() != 2) {
    throw Error("compare", "models", std::to_string(flags.runs.size()), "2");
  }
  if (flags.data.empty()) throw Error("compare", "--data", "nothing", "pictures for the models");
  Model first = open_model(flags.runs[0]).model;
  const Dataset data =
      load_dataset(flags.data, Split::test,
                   {.image_size = flags.image_size, .input = input_of(first.network).shape});
  const ModelComparison found =
      compare_models(std::move(first), open_model(flags.runs[1]).model, data, flags.device);
  if (!flags.pictures.empty()) write_pictures(flags.pictures, data, found.different);
  if (flags.is_json) {
    Json json{{"models", flags.runs}, {"data", flags.data}};
    json.update(Json::parse(to_json(found)));
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{} of {} answers agree: {:.2f} %\n", found.agreed(), found.images,
             100 * found.agreement());
  fmt::print("top-1 {:.2f} %  {}\n", 100 * found.top1[0], flags.runs[0]);
  fmt::print("top-1 {:.2f} %  {}\n", 100 * found.top1[1], flags.runs[1]);
  if (!found.different.empty()) print_list(found.different, data);
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
  if (flags.is_json) return fmt::print("{}\n", comparison_json(runs));
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
      ->type_name("FILE.html|.svg")
      ->check(ending_in({".html", ".htm", ".svg"}));
  verb.add_option("--image-size", flags->image_size, "of models: side of the pictures of a folder")
      ->check(positive());
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
