// SPDX-License-Identifier: Apache-2.0
// nibble eval: how a model does on a data set.
#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "apps/nibble/verb.h"
#include "core/hash.h"
#include "nibble/core/error.h"
#include "tasks/evaluate_model.h"
#include "tasks/json.h"
#include "tasks/open_model.h"
#include "tasks/shared_options.h"

namespace nibble {
namespace {

struct EvalFlags {
  std::string model;
  EvaluateChoices choices;
  bool is_json = false;
  bool has_confusion = false;
};

void print_confusion(const Classification& classes, const std::vector<std::string>& names) {
  const auto name = [&](std::int64_t i) {
    const auto place = static_cast<std::size_t>(i);
    return place < names.size() ? names[place] : std::to_string(i);
  };
  std::size_t width = 5;
  for (std::int64_t i = 0; i < classes.classes(); ++i) width = std::max(width, name(i).size());
  fmt::print("\nlabel (down), answer (across)\n{:<{}}", "", width);
  for (std::int64_t i = 0; i < classes.classes(); ++i) fmt::print(" {:>5}", name(i).substr(0, 5));
  fmt::print("\n");
  for (std::int64_t label = 0; label < classes.classes(); ++label) {
    fmt::print("{:<{}}", name(label), width);
    for (std::int64_t answer = 0; answer < classes.classes(); ++answer)
      fmt::print(" {:>5}", classes.confusion(label, answer));
    fmt::print("\n");
  }
}

void print_json(const Findings& findings, const std::string& model, const std::string& network,
                std::uint64_t weights, const EvalFlags& flags) {
  Json json{{"model", model},
            {"network", network},
            {"data", flags.choices.data},
            {"split", flags.choices.split},
            {"weights_hash", hex(weights)}};
  json.update(Json::parse(to_json(findings, flags.choices)));
  fmt::print("{}\n", json.dump(2));
}

void run(EvalFlags& flags) {
  use_threads(flags.choices.threads);
  const std::filesystem::path path = model_file_of(flags.model);
  Model model = read_model(path).model;
  const std::string network = model.network.name;
  const std::uint64_t weights = weights_hash(model);
  flags.choices.progress = flags.is_json ? ProgressStyle::silent : ProgressStyle::automatic;
  const Findings findings = evaluate_model(std::move(model), flags.choices);
  if (flags.has_confusion && !findings.evaluation.classes)
    throw Error("eval", "--confusion", "data with targets", "data with classes");
  if (flags.is_json) return print_json(findings, path.string(), network, weights, flags);
  const Evaluation& result = findings.evaluation;
  if (!result.classes) {
    fmt::print("loss {:.6f} over {} examples\n", result.loss, result.images);
    return;
  }
  fmt::print("{} of {} images right: {:.2f} % top-1, {:.2f} % top-5, loss {:.4f}\n",
             result.classes->correct(), result.images, 100 * result.classes->top1(),
             100 * result.classes->top5(), result.loss);
  if (findings.agreement) {
    fmt::print("{} of {} answers are those of {}\n", findings.agreement->agreed,
               findings.agreement->compared, flags.choices.oracle);
  }
  if (flags.has_confusion) print_confusion(*result.classes, findings.class_names);
}

}  // namespace

void add_eval(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand("eval", "how a model does on a data set");
  const auto flags = std::make_shared<EvalFlags>();
  verb.add_option("MODEL", flags->model,
                  "a .nib file, or a run folder (its best model, else its last)")
      ->type_name("")
      ->required();
  add_evaluate_options(verb, flags->choices);
  verb.add_flag("--confusion", flags->has_confusion, "print which classes were taken for which");
  verb.add_flag("--json", flags->is_json,
                "print JSON: images, correct, top1, top5, loss, confusion, oracle");
  verb.footer(
      "Examples:\n"
      "  nibble eval runs/lenet-1 --data mnist --confusion\n"
      "  nibble eval model.nib --data digits --json\n"
      "  nibble eval resnet50.nib --data imagenet/val --oracle mlperf_log_accuracy.json");
  verb.callback([flags] { run(*flags); });
}

}  // namespace nibble
