// SPDX-License-Identifier: Apache-2.0
// Trains a network by a recipe: the loop, with the learner of floats.
#include "nibble/float_training/train.h"

#include <utility>
#include <vector>

#include "epoch_loop/run_training.h"
#include "float_training/float_learner.h"

namespace nibble::inline float_training {
namespace {

// With the settings as they will run, and with the rules that the network brings.
Recipe complete(Recipe recipe, const RunSettings& settings) {
  static_cast<RunSettings&>(recipe) = settings;
  const std::vector<PolicyRule> own = own_rules(recipe.network);
  recipe.policy.rules.insert(recipe.policy.rules.begin(), own.begin(), own.end());
  return recipe;
}

}  // namespace

TrainResult train(const Recipe& recipe, const TrainOptions& options) {
  check_average_start(recipe.averaging.start, recipe.epochs);
  check_policy(recipe.policy, recipe.network);
  return run_training(recipe, options, [&](const RunSettings& settings, const TrainingData& data) {
    return std::make_unique<FloatLearner>(complete(recipe, settings), data);
  });
}

}  // namespace nibble::inline float_training
