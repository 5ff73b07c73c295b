// SPDX-License-Identifier: Apache-2.0
// Where emitted training begins, from the options of nibble emit.
#include "apps/nibble/verb_parts.h"

#include <CLI/CLI.hpp>

#include "nibble/core/error.h"
#include "nibble/graph/model_file.h"
#include "nibble/graph/network_text.h"
#include "tasks/shared_options.h"

namespace nibble {

void add_training_flags(CLI::App& verb, EmitTrainingFlags& flags) {
  CLI::Option* train = verb.add_flag(
      "--train", flags.is_on,
      "also the training step, as nibble train --arith int8 --update shift has it\n"
      "with its usual settings, whatever rule trained the model; MODEL may then be a\n"
      "network, with its first weights");
  TrainEmitSettings& settings = flags.settings;
  verb.add_option("--data", flags.data, "data set of the training check (the model's)")
      ->needs(train);
  verb.add_option("--seed", settings.options.seed, "of training's randomness (1)")
      ->needs(train)
      ->transform(whole_number());
  verb.add_option("--train-batch", settings.batch, "images of a training step, at most (8)")
      ->needs(train);
  verb.add_option("--train-steps", settings.check_steps, "steps of the training check (100)")
      ->needs(train);
  verb.add_option("--train-images", settings.check_images, "images of the training check (64)")
      ->needs(train);
}

TrainingStart training_start_of(const std::string& what, const EmitTrainingFlags& flags) {
  if (!what.ends_with(".nib")) {
    IntegerRecipe recipe;
    recipe.network = load_network(what);
    recipe.data = flags.data;
    recipe.seed = flags.settings.options.seed;
    if (recipe.data.empty()) throw Error("emit", "--data", "none", "the data set to train on");
    return training_start(recipe);
  }
  ModelFile file = read_model(what);
  const std::string data = flags.data.empty() ? file.origin["data"] : flags.data;
  if (data.empty()) throw Error("emit", "--data", "none", "the data set to train on");
  return {std::move(file.model), load_dataset(data, Split::train)};
}

}  // namespace nibble
