// SPDX-License-Identifier: Apache-2.0
// Floats by oneDNN, integers by the engine or by the trainer's own code.
#include "tasks/evaluate_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "inference/example_source.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/float_training/train.h"
#include "nibble/integer_training/train_integers.h"
#include "tasks/json.h"
#include "tasks/shared_options.h"
#include "tasks/train_flags.h"

namespace nibble::inline tasks {
namespace {

Split split_of(const EvaluateChoices& choices) {
  return choices.split == "train" ? Split::train : Split::test;
}

Dataset dataset_of(const EvaluateChoices& choices, const Network& network) {
  return load_dataset(choices.data, split_of(choices),
                      {.image_size = choices.image_size,
                       .input = input_of(network).shape,
                       .skips_broken = choices.skips_broken});
}

// A folder that lacks a class numbers those after it anew, and every answer would count as wrong.
void check_classes(const std::vector<std::string>& names, const Network& network) {
  const std::vector<std::string>& known = network.class_names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = std::ranges::find(known, names[i]);
    if (found == known.end() || (i < known.size() && known[i] == names[i])) continue;
    throw Error("eval", fmt::format("class '{}' of the data", names[i]),
                fmt::format("number {}", i),
                fmt::format("{}, as in {}: a folder for every class, be it empty",
                            found - known.begin(), network.name),
                ErrorKind::input);
  }
}

// By the engine: any network of integers, on data sets and on folders with val_map.txt.
Findings find_with_engine(Model model, const EvaluateChoices& choices) {
  // A class by itself has no second best.
  model.network.nodes.resize(output_of(model.network) + 1);
  if (is<ArgMax>(model.network.nodes.back().op) && model.network.nodes.size() > 2 &&
      model.network.nodes.back().inputs[0] + 2 == model.network.nodes.size())
    model.network.nodes.pop_back();
  const AnswerEngine engine(std::move(model),
                            {.device = choices.device, .max_batch = 16, .threads = thread_count()});
  const std::unique_ptr<ExampleSource> source =
      load_examples(choices.data,
                    {.split = split_of(choices),
                     .image_size = choices.image_size,
                     .skips_broken = choices.skips_broken},
                    engine);
  Findings findings;
  check_classes(source->class_names, engine.network());
  findings.class_names = source->class_names;
  std::optional<LoggedAnswers> oracle;
  if (!choices.oracle.empty()) oracle = read_accuracy_log(choices.oracle);
  EngineEvaluation result = evaluate_engine(engine, source->examples, choices.progress);
  findings.evaluation = std::move(result.evaluation);
  if (oracle) findings.agreement = agreement_of(source->examples, result.answers, *oracle);
  return findings;
}

// Options that this model or these data have no use for.
void check_choices(const EvaluateChoices& choices, bool is_integer, bool is_trained,
                   bool is_listed) {
  if (is_integer && !choices.policy.empty())
    throw Error("eval", "--policy", "a model of integers", "a model of floats");
  if (!is_trained && choices.shifts != "frozen")
    throw Error("eval", "--shifts", "a model without shifts",
                "one that 'nibble train --arith int8' made");
  if (is_listed && choices.image_size != 0)
    throw Error("eval", "--image-size", "a folder with val_map.txt",
                "none: its pictures become what the network takes");
  if (is_listed && choices.split != "test")
    throw Error("eval", "--split", "a folder with val_map.txt", "none: it has one split");
}

}  // namespace

void add_evaluate_options(CLI::App& verb, EvaluateChoices& choices) {
  verb.add_option("--data", choices.data,
                  "digits, mnist, fashion-mnist, cifar10, or a path: arrays, folders of pictures,\n"
                  "archives (.tar), a folder with val_map.txt there or beside it; for integer\n"
                  "models also one of MLPerf's tensors")
      ->required();
  verb.add_option("--split", choices.split, "test or train")
      ->check(CLI::IsMember({"test", "train"}));
  verb.add_option("--policy", choices.policy,
                  "formats of activations and sums instead of the model's own (TOML)")
      ->type_name("FILE");
  verb.add_option("--shifts", choices.shifts,
                  "of an integer model: frozen, as in the file, or exact, from each batch of 256")
      ->check(CLI::IsMember({"frozen", "exact"}));
  verb.add_option("--oracle", choices.oracle,
                  "of an integer model: count the answers that an MLPerf accuracy log shares")
      ->type_name("LOG");
  verb.add_option("--image-size", choices.image_size, "side of the pictures of a folder")
      ->check(positive());
  add_skip_broken_option(verb, choices.skips_broken);
  add_threads_option(verb, choices.threads);
  add_device_option(verb, choices.device);
  verb.add_flag("--engine", choices.is_engine,
                "run an integer-trained model in the engine instead of the trainer's own code:\n"
                "the same answers, bit for bit; other models of integers run there anyway");
}

Findings evaluate_model(Model model, const EvaluateChoices& choices) {
  const bool is_trained = is_integer_model(model);
  const bool has_rescales = std::ranges::any_of(
      model.network.nodes, [](const Node& node) { return is<Rescale>(node.op); });
  const bool is_listed = has_file_list(choices.data);
  check_choices(choices, is_trained || has_rescales, is_trained, is_listed);
  if (has_rescales || (is_trained && (choices.is_engine || is_listed || !choices.oracle.empty()))) {
    if (is_trained && choices.shifts != "frozen")
      throw Error("eval", "--shifts by the engine", choices.shifts, "frozen");
    return find_with_engine(std::move(model), choices);
  }
  if (choices.is_engine || !choices.oracle.empty())
    throw Error("eval", "--engine or --oracle", "a model of floats", "a model of integers");
  const Dataset data = dataset_of(choices, model.network);
  check_classes(data.class_names, model.network);
  if (is_trained) {
    const auto rule = choices.shifts == "frozen" ? ShiftRule::frozen : ShiftRule::exact;
    return {evaluate_integers(model, data, rule,
                              {.progress = choices.progress, .device = choices.device}),
            data.class_names,
            {}};
  }
  if (choices.device != "cpu")
    throw Error("eval", "--device " + choices.device, "a model of floats", "a model of integers");
  std::optional<PrecisionPolicy> policy;
  if (!choices.policy.empty()) {
    policy = load_policy(choices.policy);
    check_policy(*policy, model.network);
  }
  return {
      evaluate(model, data, {.policy = policy ? &*policy : nullptr, .progress = choices.progress}),
      data.class_names,
      {}};
}

std::string to_json(const Findings& findings, const EvaluateChoices& choices) {
  Json json = Json::object();
  const Evaluation& result = findings.evaluation;
  if (result.classes) {
    json.update(Json::parse(to_json(*result.classes, findings.class_names)));
  } else {
    json["images"] = result.images;
  }
  json["loss"] = result.loss;
  if (findings.agreement) {
    json["oracle"] = {{"log", choices.oracle},
                      {"compared", findings.agreement->compared},
                      {"agreed", findings.agreement->agreed}};
  }
  return json.dump();
}

}  // namespace nibble::inline tasks
