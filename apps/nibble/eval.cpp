// SPDX-License-Identifier: Apache-2.0
// nibble eval: how a model does on a data set.
#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/nibble/shared_options.h"
#include "apps/nibble/train_flags.h"
#include "apps/nibble/verb.h"
#include "core/hash.h"
#include "inference/engine_evaluation.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/float_training/train.h"
#include "nibble/graph/model_file.h"
#include "nibble/integer_training/train_integers.h"
#include "tasks/json.h"

namespace nibble {
namespace {

struct EvalFlags {
  std::string model;
  std::string data;
  std::string split = "test";
  std::string policy;
  std::string shifts = "frozen";
  std::string oracle;
  std::int64_t image_size = 0;
  int threads = 0;
  std::string device = "cpu";
  bool is_json = false;
  bool is_engine = false;
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

ProgressStyle progress_of(const EvalFlags& flags) {
  return flags.is_json ? ProgressStyle::silent : ProgressStyle::automatic;
}

// What was found, and how far a log agrees with it.
struct Findings {
  Evaluation evaluation;
  std::vector<std::string> class_names;
  std::optional<Agreement> agreement;
};

Dataset dataset_of(const EvalFlags& flags) {
  return load_dataset(flags.data, flags.split == "train" ? Split::train : Split::test,
                      {.image_size = flags.image_size});
}

// By the engine: any network of integers, on data sets and on folders with val_map.txt.
Findings find_with_engine(Model model, const EvalFlags& flags) {
  // A class by itself has no second best.
  model.network.nodes.resize(output_of(model.network) + 1);
  if (is<ArgMax>(model.network.nodes.back().op) && model.network.nodes.size() > 2 &&
      model.network.nodes.back().inputs[0] + 2 == model.network.nodes.size())
    model.network.nodes.pop_back();
  const AnswerEngine engine(std::move(model),
                            {.device = flags.device, .max_batch = 16, .threads = thread_count()});
  const ExampleReader reader(engine.network(), engine.engine().input());
  Findings findings;
  findings.class_names = engine.network().class_names;
  Dataset data;
  Examples examples;
  if (has_file_list(flags.data)) {
    examples = examples_of(read_file_list(flags.data), flags.data, reader);
  } else {
    data = dataset_of(flags);
    findings.class_names = data.class_names;
    examples = examples_of(data, engine.network(), reader);
  }
  std::optional<LoggedAnswers> oracle;
  if (!flags.oracle.empty()) oracle = read_accuracy_log(flags.oracle);
  EngineEvaluation result = evaluate_engine(engine, examples, progress_of(flags));
  findings.evaluation = std::move(result.evaluation);
  if (oracle) findings.agreement = agreement_of(examples, result.answers, *oracle);
  return findings;
}

// Options that this model or these data have no use for.
void check_flags(const EvalFlags& flags, bool is_integer, bool is_trained, bool is_listed) {
  if (is_integer && !flags.policy.empty())
    throw Error("eval", "--policy", "a model of integers", "a model of floats");
  if (!is_trained && flags.shifts != "frozen")
    throw Error("eval", "--shifts", "a model without shifts",
                "one that 'nibble train --arith int8' made");
  if (is_listed && flags.image_size != 0)
    throw Error("eval", "--image-size", "a folder with val_map.txt",
                "none: its pictures become what the network takes");
  if (is_listed && flags.split != "test")
    throw Error("eval", "--split", "a folder with val_map.txt", "none: it has one split");
}

Findings find(Model model, const EvalFlags& flags) {
  const bool is_trained = is_integer_model(model);
  const bool has_rescales = std::ranges::any_of(
      model.network.nodes, [](const Node& node) { return is<Rescale>(node.op); });
  const bool is_listed = has_file_list(flags.data);
  check_flags(flags, is_trained || has_rescales, is_trained, is_listed);
  if (has_rescales || (is_trained && (flags.is_engine || is_listed || !flags.oracle.empty()))) {
    if (is_trained && flags.shifts != "frozen")
      throw Error("eval", "--shifts by the engine", flags.shifts, "frozen");
    return find_with_engine(std::move(model), flags);
  }
  if (flags.is_engine || !flags.oracle.empty() || is_listed) {
    throw Error("eval", is_listed ? flags.data : "--engine or --oracle", "a model of floats",
                "a model of integers");
  }
  const Dataset data = dataset_of(flags);
  if (is_trained) {
    const auto rule = flags.shifts == "frozen" ? ShiftRule::frozen : ShiftRule::exact;
    return {evaluate_integers(model, data, rule,
                              {.progress = progress_of(flags), .device = flags.device}),
            data.class_names,
            {}};
  }
  if (flags.device != "cpu")
    throw Error("eval", "--device " + flags.device, "a model of floats", "a model of integers");
  std::optional<PrecisionPolicy> policy;
  if (!flags.policy.empty()) {
    policy = load_policy(flags.policy);
    check_policy(*policy, model.network);
  }
  return {evaluate(model, data,
                   {.policy = policy ? &*policy : nullptr, .progress = progress_of(flags)}),
          data.class_names,
          {}};
}

void print_json(const Findings& findings, const std::string& model, const std::string& network,
                std::uint64_t weights, const EvalFlags& flags) {
  Json json{{"model", model},
            {"network", network},
            {"data", flags.data},
            {"split", flags.split},
            {"weights_hash", hex(weights)}};
  const Evaluation& result = findings.evaluation;
  if (result.classes) {
    json.update(Json::parse(to_json(*result.classes, findings.class_names)));
  } else {
    json["images"] = result.images;
  }
  json["loss"] = result.loss;
  if (findings.agreement) {
    json["oracle"] = {{"log", flags.oracle},
                      {"compared", findings.agreement->compared},
                      {"agreed", findings.agreement->agreed}};
  }
  fmt::print("{}\n", json.dump(2));
}

void run(const EvalFlags& flags) {
  use_threads(flags.threads);
  // A run folder stands for its best model, else for its last.
  std::filesystem::path path = flags.model;
  if (std::filesystem::is_directory(path)) {
    path = std::filesystem::exists(path / "best.nib") ? path / "best.nib" : path / "model.nib";
  }
  Model model = read_model(path).model;
  const std::string network = model.network.name;
  const std::uint64_t weights = weights_hash(model);
  const Findings findings = find(std::move(model), flags);
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
               findings.agreement->compared, flags.oracle);
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
  verb.add_option("--data", flags->data,
                  "digits, mnist, fashion-mnist, cifar10, or a path; for integer models also a\n"
                  "folder of pictures or MLPerf tensors with val_map.txt there or beside it")
      ->required();
  verb.add_option("--split", flags->split, "test or train")
      ->check(CLI::IsMember({"test", "train"}));
  verb.add_option("--policy", flags->policy,
                  "formats of activations and sums instead of the model's own (TOML)")
      ->type_name("FILE");
  verb.add_option("--shifts", flags->shifts,
                  "of an integer model: frozen, as in the file, or exact, from each batch of 256")
      ->check(CLI::IsMember({"frozen", "exact"}));
  verb.add_option("--oracle", flags->oracle,
                  "of an integer model: count the answers that an MLPerf accuracy log shares")
      ->type_name("LOG");
  verb.add_option("--image-size", flags->image_size, "side of the pictures of a folder")
      ->check(CLI::PositiveNumber);
  add_threads_option(verb, flags->threads);
  add_device_option(verb, flags->device);
  verb.add_flag("--engine", flags->is_engine,
                "run an integer-trained model in the engine instead of the trainer's own code:\n"
                "the same answers, bit for bit; other models of integers run there anyway");
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
