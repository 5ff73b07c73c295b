// SPDX-License-Identifier: Apache-2.0
// Trains a network by a recipe, into a run folder.
#pragma once

#include "nibble/loop/train_options.h"
#include "nibble/train/evaluate.h"
#include "nibble/train/recipe.h"

namespace nibble {

TrainResult train(const Recipe& recipe, const TrainOptions& options);

}  // namespace nibble
