// SPDX-License-Identifier: Apache-2.0
// Trains a model for some more epochs, without a run folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "nibble/data/augment.h"
#include "nibble/data/dataset.h"
#include "nibble/float_training/recipe.h"
#include "nibble/graph/network.h"
#include "nibble/run_folder/progress.h"
#include "nibble/run_folder/schedule.h"

namespace nibble::inline float_training {

struct FineTunedEpoch {
  std::int64_t epoch = 0;      // from 1
  double loss = 0;             // means over the epoch's images, as they were trained
  std::optional<double> top1;  // a share; none of a regression
  double seconds = 0;
  double share = 1;  // of its images that are done
};

struct FineTuneOptions {
  std::int64_t epochs = 5;
  std::int64_t batch = 128;
  OptimizerSettings optimizer = {};  // sgd, rate 0.01, momentum 0.9
  Schedule schedule = {.rate = CosineRate{}};
  AugmentOptions augment = {};
  std::uint64_t seed = 1;  // of order and augmentation
  ProgressStyle progress = ProgressStyle::silent;
  std::function<void(const FineTunedEpoch&)> after_epoch = {};
  // Called between batches, ten times a second at most, with the epoch as far as it is.
  std::function<void(const FineTunedEpoch& so_far)> during_epoch = {};
  // Called before each epoch with the model as it is: the steps of the one that it gives, of the
  // same layers, are taken, and do not learn. Empty: steps learn as weights do.
  std::function<Model(const Model& now)> before_epoch = {};
  // Written after each epoch and at a signal. The same call goes on from it to the same weights;
  // one of other settings, data or weights counts as none. Whoever has the result removes it.
  // Empty: none.
  std::filesystem::path checkpoint = {};
};

// The model with other numbers and the very same network, whose formats and steps hold while it
// trains. Without a loss of its own, softmax cross-entropy (for targets squared error) is trained.
// The weights do not depend on the number of threads. SIGINT and SIGTERM end it within a batch, as
// Interrupted.
Model fine_tune(const Model& start, const Dataset& data, const FineTuneOptions& options = {});

}  // namespace nibble::inline float_training
