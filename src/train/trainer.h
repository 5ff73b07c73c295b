// SPDX-License-Identifier: Apache-2.0
// The loop over epochs: batches, evaluation, checkpoints, rows and events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "nibble/data/dataset.h"
#include "nibble/run/best.h"
#include "nibble/run/run_folder.h"
#include "nibble/train/train.h"
#include "train/averager.h"
#include "train/session.h"

namespace nibble {

// The data of a run, with the train split cut in two where a validation split is held out.
struct TrainingData {
  Dataset train;
  std::optional<Dataset> test;
  std::vector<std::int32_t> indices;  // of the images that train
  std::optional<Dataset> validation;  // copies of the images held out
};

TrainingData load_training_data(const Recipe& recipe);

// What an epoch has seen so far; part of a checkpoint.
struct EpochSums {
  std::int64_t batches = 0;
  std::int64_t images = 0;
  std::int64_t correct = 0;
  double loss = 0;
};

class Trainer {
 public:
  // The recipe and the data must outlive the trainer.
  Trainer(const Recipe& recipe, const TrainingData& data, const TrainOptions& options,
          RunFolder& folder);

  void resume();
  std::int64_t steps() const { return session_.steps(); }
  void set_events(EventSink* events) { events_ = events; }
  TrainResult run();

 private:
  std::int64_t steps_per_epoch() const;
  bool is_done() const;
  double rate() const;
  bool train_epoch();  // false: interrupted
  void train_batch(Batcher& batcher, std::span<const std::int32_t> indices);
  void finish_epoch();
  void average(bool is_end_of_epoch);
  Model final_model();
  void save();
  void finish(TrainResult& result);
  CheckpointIdentity identity() const;
  Evaluation evaluate_on(const Model& model, const Dataset& data) const;

  const Recipe& recipe_;
  const TrainingData& data_;
  const TrainOptions& options_;
  RunFolder& folder_;
  EventSink* events_ = nullptr;
  Session session_;
  Averager averager_;
  std::int64_t epoch_ = 0;  // done
  EpochSums sums_;
  PlateauState plateau_;
  BestSoFar best_;
  EarlyStoppingState early_;
  bool stops_early_ = false;
  double last_rate_ = 0;      // of the last step
  double seconds_ = 0;        // of all calls
  double epoch_seconds_ = 0;  // of this epoch's batches
};

}  // namespace nibble
