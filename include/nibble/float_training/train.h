// SPDX-License-Identifier: Apache-2.0
// Trains a network by a recipe, into a run folder, and says how a model does on a data set.
#pragma once

#include "nibble/data/dataset.h"
#include "nibble/epoch_loop/train_options.h"
#include "nibble/float_training/recipe.h"
#include "nibble/graph/network.h"
#include "nibble/run_folder/metrics.h"
#include "nibble/run_folder/progress.h"

namespace nibble::inline float_training {

TrainResult train(const Recipe& recipe, const TrainOptions& options);

struct EvaluateOptions {
  // Instead of the formats of activations that the network itself names. Weights are taken as they
  // are in the model.
  const PrecisionPolicy* policy = nullptr;
  ProgressStyle progress = ProgressStyle::silent;
};

// Stochastic rounding draws with seed 0, so that the same model gives the same answer anywhere.
Evaluation evaluate(const Model& model, const Dataset& data, const EvaluateOptions& options = {});

}  // namespace nibble::inline float_training
