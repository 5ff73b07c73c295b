// SPDX-License-Identifier: Apache-2.0
// Integer-only training into a run folder, and evaluation of what it gives.
#pragma once

#include <string>

#include "nibble/data/dataset.h"
#include "nibble/graph/network.h"
#include "nibble/integer_run/integer_recipe.h"
#include "nibble/run/metrics.h"
#include "nibble/loop/train_options.h"

namespace nibble {

// Throws where a layer has no integer form, before any data is read.
TrainResult train_integers(const IntegerRecipe& recipe, const TrainOptions& options);

// Whether the model's weights are int8 with exponents, as train_integers writes them.
bool is_integer_model(const Model& model);

struct IntegerEvaluationOptions {
  ProgressStyle progress = ProgressStyle::silent;
  std::string device = "cpu";  // who computes; it changes no answer
};

// With the frozen shifts of the file, so that no image's answer depends on others; or, as while
// training, with shifts from each batch of 256.
Evaluation evaluate_integers(const Model& model, const Dataset& data, ShiftRule rule,
                             const IntegerEvaluationOptions& options = {});

}  // namespace nibble
