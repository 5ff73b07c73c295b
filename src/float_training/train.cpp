// SPDX-License-Identifier: Apache-2.0
// Trains a network by a recipe: the loop, with the learner of floats.
#include "nibble/float_training/train.h"

#include <utility>
#include <vector>

#include "epoch_loop/run_training.h"
#include "float_training/float_learner.h"
#include "float_training/float_placement.h"

namespace nibble::inline float_training {
namespace {

// Errors of fp16 vanish below 2^-24: without a loss scale of its own a run takes the usual one.
constexpr LossScale kUsualLossScale = {.start = 65536, .is_dynamic = true};

// With the settings as they will run, and with the rules that the network brings.
Recipe complete(Recipe recipe, const RunSettings& settings) {
  static_cast<RunSettings&>(recipe) = settings;
  const std::vector<PolicyRule> own = own_rules(recipe.network);
  const LossScale& scale = recipe.policy.loss_scale;
  const bool has_fp16 = recipe.wire == WireFormat::fp16 || recipe.compute == ProductType::fp16;
  if (has_fp16 && scale.start == 1 && !scale.is_dynamic) recipe.policy.loss_scale = kUsualLossScale;
  recipe.policy.rules.insert(recipe.policy.rules.begin(), own.begin(), own.end());
  return recipe;
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
