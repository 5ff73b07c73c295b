// SPDX-License-Identifier: Apache-2.0
// Integer-only training: the loop, with the learner of integers.
#include "nibble/integer_run/train_integers.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "integer_run/integer_learner.h"
#include "nibble/core/error.h"
#include "nibble/loop/run_training.h"

namespace nibble {
namespace {

void check(const IntegerRecipe& recipe) {
  const IntegerSession session(recipe.network, recipe.options);  // refuses what has no integer form
  for (const auto& [layer, choice] : recipe.options.roundings.layers)
    find_node(recipe.network, layer);
}

// With the settings as they will run.
IntegerRecipe complete(IntegerRecipe recipe, const RunSettings& settings,
                       const TrainingData& data) {
  static_cast<RunSettings&>(recipe) = settings;
  recipe.options.seed = settings.seed;
  const auto images = static_cast<std::int64_t>(data.indices.size());
  if (recipe.batch > images) {
    throw Error("train", "batch", std::to_string(recipe.batch),
                fmt::format("at most {}, the images that train", images));
  }
  return recipe;
}

}  // namespace

TrainResult train_integers(const IntegerRecipe& recipe, const TrainOptions& options) {
  check(recipe);
  return run_training(recipe, options, [&](const RunSettings& settings, const TrainingData& data) {
    return std::make_unique<IntegerLearner>(complete(recipe, settings, data), data,
                                            options.communicator);
  });
}

}  // namespace nibble
