// SPDX-License-Identifier: Apache-2.0
// The loop over epochs: batches, evaluation, checkpoints, rows and events.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <span>
#include <utility>

#include "epoch_loop/learner.h"
#include "epoch_loop/training_data.h"
#include "nibble/epoch_loop/run_settings.h"
#include "nibble/epoch_loop/train_options.h"
#include "nibble/run_folder/best.h"
#include "nibble/run_folder/run_folder.h"

namespace nibble::inline epoch_loop {

// One piece of work beside the loop: files are written while the next epoch trains.

class BackgroundTask {
 public:
  // Waits for the one before.
  void start(std::function<void()> work) {
    wait();
    running_ = std::async(std::launch::async, std::move(work));
  }

  // Throws what the work threw.
  void wait() {
    if (running_.valid()) running_.get();
  }

 private:
  std::future<void> running_;  // its end waits as well
};

// What an epoch has seen so far; part of a checkpoint.
struct EpochSums {
  std::int64_t batches = 0;
  std::int64_t images = 0;
  std::int64_t correct = 0;
  double loss = 0;
};

Communicator& ranks_of(const TrainOptions& options);

class Trainer {
 public:
  // All must outlive the trainer; the settings are complete. Rank 0 alone has a folder.
  Trainer(const RunSettings& settings, const TrainingData& data, const TrainOptions& options,
          Learner& learner, RunFolder* folder);

  void resume();
  void set_events(EventSink* events) { events_ = events; }
  TrainResult run();

 private:
  bool is_first() const { return folder_ != nullptr; }
  std::int64_t steps_per_epoch() const;
  bool is_done() const;
  int agreed_interrupt();
  void train_epoch();  // or the part of it before an interrupt
  void train_batch(std::span<const std::int32_t> indices);
  bool is_traced_step();
  void write_trace(const StepTrace& trace) const;
  void add(const StepResult& result);
  void finish_epoch();
  EpochRow measured_row(const Model& model) const;
  void keep_best(const Model& model, const EpochRow& row);
  void save();
  void finish(TrainResult& result);
  CheckpointIdentity identity() const;
  Origin origin() const;

  const RunSettings& settings_;
  const TrainingData& data_;
  const TrainOptions& options_;
  Learner& learner_;
  Communicator& ranks_;
  RunFolder* folder_;
  EventSink* events_ = nullptr;
  std::int64_t epoch_ = 0;  // done
  EpochSums sums_;
  std::int64_t images_told_ = 0;  // of those in sums_, the ones whose results are
  BestSoFar best_;
  EarlyStoppingState early_;
  bool stops_early_ = false;
  int stopped_by_ = 0;        // the signal
  std::int64_t taken_ = 0;    // steps of this call
  double seconds_ = 0;        // of all calls
  double epoch_seconds_ = 0;  // of this epoch's batches
  BackgroundTask writer_;     // of checkpoint and model
};

}  // namespace nibble::inline epoch_loop
