// SPDX-License-Identifier: Apache-2.0
// Trains a network by a recipe: the loop, with the learner of floats.
#include "nibble/float_training/train.h"

#include <utility>

#include "epoch_loop/run_training.h"
#include "float_training/float_learner.h"
#include "float_training/float_placement.h"
#include "float_training/session.h"

namespace nibble::inline float_training {
namespace {

// With the settings as they will run.
Recipe complete(Recipe recipe, const RunSettings& settings) {
  static_cast<RunSettings&>(recipe) = settings;
  return with_whole_policy(std::move(recipe));
}

}  // namespace

TrainResult train(const Recipe& recipe, const TrainOptions& options) {
  check_average_start(recipe.averaging.start, recipe.epochs);
  check_policy(recipe.policy, recipe.network);
  static_cast<void>(FloatPlacement(recipe));  // what it refuses is refused before a folder is made
  return run_training(recipe, options, [&](const RunSettings& settings, const TrainingData& data) {
    return std::make_unique<FloatLearner>(complete(recipe, settings), data);
  });
}

}  // namespace nibble::inline float_training
