// SPDX-License-Identifier: Apache-2.0
// Integer-only training as plain C: the step that nibble train --arith int8 takes, weight for
// weight.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nibble/data/dataset.h"
#include "nibble/emit/emit.h"
#include "nibble/graph/network.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline emit {

struct TrainEmitSettings {
  std::string prefix = "net";
  std::int64_t batch = 8;  // images of a step, at most

  // The seed is the step's; what is not the trainer's usual way has no emitted form and is refused.
  IntegerOptions options = {};

  // What the emitted check does; the bits of steps are otherwise given to each.
  int mu = 5;
  int bias_mu = 1;
  std::int64_t check_steps = 100;
  std::int64_t check_images = 64;  // the first of the examples, or all where there are fewer
};

struct TrainingFigures {
  std::int64_t weights = 0;      // bytes
  std::int64_t state_bytes = 0;  // weights, values and errors of a batch: all RAM but the stack
};

struct EmittedTraining {
  std::vector<EmittedFile> files;
  TrainingFigures figures;
};

// Files PREFIX_train*.{h,c}. The model is one of integer training: its weights are the first ones,
// and their exponents stay. Runs the trainer on the examples to know what the check has to find.
// Throws one line where a layer or a setting has no emitted form.
EmittedTraining emit_training(const Model& start, const Dataset& examples,
                              const TrainEmitSettings& settings);

// A run before its first step: the weights that the trainer draws, and its train split.
struct TrainingStart {
  Model model;
  Dataset examples;
};

TrainingStart training_start(const IntegerRecipe& recipe);

}  // namespace nibble::inline emit
