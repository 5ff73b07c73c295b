// SPDX-License-Identifier: Apache-2.0
// A run of integer training before its first step.
#include <utility>

#include "epoch_loop/training_data.h"
#include "integer_training/integer_learner.h"
#include "nibble/emit/emit_training.h"

namespace nibble::inline emit {

TrainingStart training_start(const IntegerRecipe& recipe) {
  TrainingData data = load_training_data(recipe);
  IntegerRecipe completed = recipe;
  static_cast<RunSettings&>(completed) = complete(recipe, data);
  completed.options.seed = completed.seed;
  Model model = IntegerLearner(completed, data, nullptr).snapshot();
  return {std::move(model), std::move(data.train)};
}

}  // namespace nibble::inline emit
