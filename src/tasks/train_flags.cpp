// SPDX-License-Identifier: Apache-2.0
// The options of nibble train and nibble sweep that make a recipe.
#include "tasks/train_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <cmath>

#include "backend/place_rules.h"
#include "core/name.h"
#include "core/nearest_name.h"
#include "core/text_file.h"
#include "epoch_loop/run_training.h"
#include "nibble/core/error.h"
#include "nibble/graph/model_file.h"
#include "nibble/graph/network_text.h"
#include "nibble/integer_training/train_integers.h"
#include "nibble/report/tensorboard.h"
#include "tasks/open_model.h"
#include "tasks/shared_options.h"

namespace nibble::inline tasks {
namespace {

constexpr int kMostImages = 1'000'000;  // as in recipes

template <class T, class U>
void take(const std::optional<T>& flag, U& setting) {
  if (flag) setting = static_cast<U>(*flag);
}

void take_number(const char* name, const std::optional<double>& flag, double& setting) {
  if (flag && !std::isfinite(*flag))
    throw CLI::ValidationError(name, fmt::format("got {}, expected a finite number", *flag));
  take(flag, setting);
}

// "weight,activation=e4m3/stochastic"
PolicyRule rule_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw Error("train", "--round", "'" + text + "'", "ROLE[,ROLE…]=FORMAT[/ROUNDING]");
  PolicyRule rule;
  rule.place = "--round " + text;
  for (std::size_t begin = 0; begin < equals;) {
    const std::size_t end = std::min(text.find(',', begin), equals);
    rule.roles.push_back(role_by_name(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  const std::string rest = text.substr(equals + 1);
  const std::size_t slash = rest.rfind('/');
  rule.rounding.precision.format = parse_format(rest.substr(0, slash));
  if (slash != std::string::npos)
    rule.rounding.precision.rounding = parse_rounding(rest.substr(slash + 1));
  check_combination(rule.rounding.precision.format, rule.rounding.precision.rounding,
                    Overflow::native);
  for (const Role role : rule.roles) {
    if (role != Role::accumulator) continue;
    if (rule.roles.size() > 1)
      throw Error("train", "--round", "'" + text + "'", "accumulator in a rule of its own");
    rule.rounding.accumulator = accumulator_of(rule.rounding.precision.format);
    rule.rounding.accumulator->rounding = rule.rounding.precision.rounding;
  }
  return rule;
}

// What is no recipe may be a network.
void check_what(const std::string& what) {
  if (what.ends_with(".toml")) return;
  std::vector<std::string> names;
  for (const NamedNetwork& each : named_networks()) names.emplace_back(each.name);
  if (std::ranges::find(names, what) != names.end()) return;
  for (const NamedRecipe& each : named_recipes()) names.emplace_back(each.name);
  throw Error("network", "network or recipe", in_quotes(what),
              fmt::format("a name or the path of a .toml file{}; 'nibble train' lists recipes, "
                          "'nibble describe' networks",
                          perhaps(what, names)));
}

Recipe base_of(const TrainFlags& flags) {
  Recipe recipe;
  if (is_recipe(flags.what)) {
    const RecipeText text = find_recipe(flags.what);
    if (arithmetic_of(text) == Arithmetic::float32) return parse_recipe(text.toml, text.source);
    static_cast<RunSettings&>(recipe) = parse_integer_recipe(text.toml, text.source);
    recipe.name += "-float";
  } else {
    take_network(flags, recipe);
  }
  recipe.optimizer = {.kind = OptimizerKind::adam, .rate = 0.001};
  return recipe;
}

}  // namespace

void add_train_flags(CLI::App& verb, TrainFlags& flags) {
  verb.add_option("--data", flags.data, "digits, mnist, fashion-mnist, cifar10, or a path");
  verb.add_option(
          "--from", flags.from,
          "a model (.nib) or the folder of a run to start from, in place of random weights;\n"
          "its network is trained unless another with the same parameters is given.\n"
          "--arith int8 takes floats, whose batch norms it folds, or int8 weights")
      ->type_name("FILE")
      ->transform([](const std::string& path) { return model_file_of(path).string(); });
  verb.add_option("--policy", flags.policy, "precision policy (TOML)")->type_name("FILE");
  verb.add_option(
          "--round", flags.rounds,
          "a rule of the policy: ROLES=FORMAT[/ROUNDING], roles weight, activation, error,\n"
          "gradient, momentum, update, master, accumulator; may be repeated")
      ->type_name("RULE")
      ->allow_extra_args(false);
  verb.add_option("--epochs", flags.epochs, "passes over the train split")
      ->transform(whole_number(0, kMostEpochs));
  verb.add_option("--batch", flags.batch, "images a step")->transform(whole_number(1, kMostImages));
  verb.add_option("--optimizer", flags.optimizer, "sgd, adam, adamw");
  verb.add_option("--lr", flags.rate, "learning rate")->check(positive());
  verb.add_option("--momentum", flags.momentum, "of sgd")->check(within(0, 1));
  add_switch(verb, "--nesterov", flags.has_nesterov,
             "of sgd: steps look ahead by the new momentum");
  verb.add_option("--weight-decay", flags.weight_decay, "added to gradients (adamw: decoupled)")
      ->check(not_negative());
  verb.add_option("--schedule", flags.schedule,
                  "constant, cosine, step(60,80;0.1), plateau(0.1,5), warmup(5)+cosine, …");
  verb.add_option("--init", flags.initialization, "he, fan-in, xavier, wage");
  verb.add_option("--seed", flags.seed, "decides every number of the run")
      ->transform(whole_number());
  verb.add_option("--val", flags.validation,
                  "images held from training: a share below 1 or a number")
      ->check(not_negative());
  verb.add_option("--patience", flags.patience,
                  "stop after so many epochs without a better validation")
      ->transform(whole_number(0, kMostEpochs));
  verb.add_option("--average-from", flags.average_from,
                  "average the weights from this epoch on; 0: no average")
      ->transform(whole_number(0, kMostEpochs));
  verb.add_option("--crop", flags.crop, "random crops out of a border of so many pixels")
      ->transform(whole_number(0, 1024));
  add_switch(verb, "--flip", flags.has_flip, "mirror every other picture");
  verb.add_option("--cutout", flags.cutout, "side of a square of each picture that is blanked")
      ->transform(whole_number(0, 1024));
  verb.add_option("--smoothing", flags.smoothing,
                  "share of a label's target that all classes get in equal parts (0)")
      ->check(within(0, 0.999));
  verb.add_option("--image-size", flags.image_size, "side of the pictures of a folder")
      ->check(positive());
  add_skip_broken_option(verb, flags.skips_broken);
  add_threads_option(verb, flags.threads, "; the weights do not depend on it");
  add_device_option(verb, flags.device);
  verb.add_option(
          "--place", flags.place,
          "who computes which pass: a device (cpu, cuda, …) or rules of which the last one\n"
          "that fits counts: 'conv*=cuda, fc.update=cpu, *.weight_gradient=cuda' (passes:\n"
          "forward, input_error, weight_gradient, update), or auto, found by measuring. The\n"
          "weights of int8 do not depend on it. Floats: convolutions and linear layers alone,\n"
          "without update")
      ->type_name("RULES");
  verb.add_option("--memory", flags.memory,
                  "what may be on the second device of --place auto: 2GB, 512MiB, or a number of\n"
                  "MiB; 0: any (0)")
      ->type_name("SIZE");
  verb.add_option("--wire", flags.wire,
                  "floats: what crosses between the CPU and the device of --place: fp32 (usual),\n"
                  "fp16, bf16, int8");
  verb.add_option(
      "--compute", flags.compute,
      "floats: what the device of --place rounds operands of products to: fp32 (usual),\n"
      "tf32, fp16, bf16; sums are in fp32");
  verb.add_flag("--fast", flags.is_fast,
                "let oneDNN cut the work: the weights then depend on the threads");
}

std::optional<std::string> place_of_flags(const TrainFlags& flags) {
  if (flags.device && flags.place)
    throw CLI::ValidationError("--place",
                               "beside --device, which means the same: give one of them");
  const std::optional<std::string>& place = flags.place ? flags.place : flags.device;
  if (!flags.memory) return place;
  if (!place || !is_auto(*place))
    throw CLI::ValidationError("--memory", "got it with " + place.value_or("no --place") +
                                               ", expected --place auto beside it");
  return *place + " within " + *flags.memory;
}

void check_float_processes(int count) {
  if (count > 1)
    throw Error("train", "processes", std::to_string(count),
                "1: only integer sums (--arith int8) do not depend on how a batch is cut");
}

std::unique_ptr<EventSink> tensorboard_sink(const RunFolder& folder,
                                            std::optional<std::int64_t> resumed_at) {
  return std::make_unique<TensorBoardSink>(folder.path(), resumed_at);
}

std::string usual_folder(const RunSettings& settings) {
  return fmt::format("runs/{}-{}", file_part(settings.name), settings.seed);
}

PrecisionPolicy load_policy(const std::string& path) {
  return parse_policy(read_text_file(path, "policy"), path);
}

Network trained_network(const std::string& what) {
  TrainFlags flags;
  flags.what = what;
  return base_of(flags).network;
}

void take_network(const TrainFlags& flags, RunSettings& settings) {
  if (flags.network) {
    settings.network = *flags.network;
  } else if (!flags.what.empty() || !flags.from) {
    check_what(flags.what);
    settings.network = load_network(flags.what);
  }
  settings.name = settings.network.name;
}

void take_run_flags(const TrainFlags& flags, RunSettings& settings) {
  take(flags.data, settings.data);
  take(flags.epochs, settings.epochs);
  take(flags.batch, settings.batch);
  take(flags.seed, settings.seed);
  take_number("--val", flags.validation, settings.validation);
  take(flags.patience, settings.early_stopping.patience);
  take(flags.crop, settings.augment.padding);
  take(flags.cutout, settings.augment.cutout);
  take(flags.image_size, settings.image_size);
  if (flags.skips_broken) settings.skips_broken = true;
  if (flags.has_flip) settings.augment.has_flip = *flags.has_flip;
  if (flags.smoothing) smooth_labels(settings.network, *flags.smoothing);
  if (settings.data.empty())
    throw CLI::RequiredError("--data digits, mnist, fashion-mnist, cifar10 or a path");
  use_threads(flags.threads);
}

Recipe recipe_of(const TrainFlags& flags) {
  Recipe recipe = base_of(flags);
  if (flags.from) start_from(recipe, read_model(*flags.from).model);
  if (recipe.start && flags.initialization) {
    throw CLI::ValidationError("--init", "the first weights are those of the model to start from");
  }
  if (flags.optimizer) {
    recipe.optimizer.kind = optimizer_by_name(*flags.optimizer);
    recipe.optimizer.rate = recipe.optimizer.kind == OptimizerKind::sgd ? 0.01 : 0.001;
  }
  for (const auto& [flag, is_given] : {std::pair{"--momentum", flags.momentum.has_value()},
                                       std::pair{"--nesterov", flags.has_nesterov.has_value()}}) {
    if (is_given && recipe.optimizer.kind != OptimizerKind::sgd) {
      throw CLI::ValidationError(
          flag, fmt::format("is of sgd, and the optimizer is {}", name_of(recipe.optimizer.kind)));
    }
  }
  take_number("--lr", flags.rate, recipe.optimizer.rate);
  take_number("--momentum", flags.momentum, recipe.optimizer.momentum);
  if (flags.has_nesterov) recipe.optimizer.has_nesterov = *flags.has_nesterov;
  take_number("--weight-decay", flags.weight_decay, recipe.optimizer.weight_decay);
  if (flags.schedule) recipe.schedule = parse_schedule(*flags.schedule);
  if (flags.initialization) recipe.initialization = initialization_by_name(*flags.initialization);
  if (flags.policy) recipe.policy = load_policy(*flags.policy);
  for (const std::string& text : flags.rounds) {
    recipe.policy.rules.push_back(rule_of(text));
    recipe.policy.name += " " + text;
  }
  take(place_of_flags(flags), recipe.place);
  if (flags.wire) recipe.wire = wire_by_name(*flags.wire);
  if (flags.compute) recipe.compute = product_type_by_name(*flags.compute);
  if ((flags.wire || flags.compute) && recipe.place.empty())
    throw CLI::ValidationError(flags.wire ? "--wire" : "--compute",
                               "got it alone, expected --place with a device beside it");
  if (flags.is_fast) recipe.is_fast = true;
  take_run_flags(flags, recipe);
  if (flags.average_from)
    recipe.averaging.start = *flags.average_from;
  else if (flags.epochs)
    recipe.averaging.start = average_start_within(recipe.averaging.start, recipe.epochs);
  return recipe;
}

}  // namespace nibble::inline tasks
