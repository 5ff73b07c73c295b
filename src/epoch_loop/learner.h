// SPDX-License-Identifier: Apache-2.0
// What a method of training is to the loop over epochs: it takes steps and knows its weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/step_trace.h"
#include "nibble/data/dataset.h"
#include "nibble/graph/model_file.h"
#include "nibble/run_folder/events.h"
#include "nibble/run_folder/metrics.h"
#include "nibble/run_folder/schedule.h"
#include "run_folder/checkpoint.h"
#include "run_folder/run_rows.h"

namespace nibble::inline epoch_loop {

// What one step an epoch shows of every layer.
struct Observation {
  EventSink* events = nullptr;  // may be null
  std::vector<LayerRow> layers = {};
  std::vector<IntegerRow> integers = {};
  std::vector<HistogramRow> histograms = {};
};

struct StepPlan {
  std::span<const std::int32_t> indices;  // the whole batch, images of the train split
  std::int64_t epoch = 0;                 // from 0; rows and words for people count from 1
  RunPosition position = {};
  Observation* observation = nullptr;  // where set, the step fills it
  StepTrace* trace = nullptr;          // where set, it is told what runs when
};

// For tables alone: of whole batches, and only rank 0 is asked.
struct StepResult {
  double loss_sum = 0;  // over the images
  std::int64_t correct = 0;
  std::int64_t images = 0;  // 0: those of the plan
  std::int64_t steps = 1;   // told of; 0: none yet
  std::int64_t step = 0;    // the last of them, from 1; 0: the one that was taken

  void add(const StepResult& other) {
    loss_sum += other.loss_sum;
    correct += other.correct;
    images += other.images;
    steps += other.steps;
    step = other.step;
  }
};

// Where several processes train one network, all of them step, end epochs, see rows, take states,
// evaluate and give snapshots and averages; rank 0 alone observes, tells and puts states.
class Learner {
 public:
  Learner() = default;
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;
  virtual ~Learner() = default;

  // The result may be that of a step before: one that runs while the next is prepared tells later.
  virtual StepResult step(const StepPlan& plan) = 0;
  virtual StepResult rest() { return {.steps = 0}; }  // of steps not told yet; waits for them
  virtual std::int64_t steps() const = 0;             // taken in the whole run
  virtual double rate() const = 0;                    // of the last step, as tables show it
  // What listeners hear of the last step beside loss and rate.
  virtual void tell(EventSink&) const {}

  // After the last step of an epoch (from 0), before anything is evaluated.
  virtual void end_epoch(std::int64_t epoch) = 0;
  // The epoch's row, the same at every rank; what follows the metrics is decided here.
  virtual void see(const EpochRow&) {}

  virtual Model snapshot() const = 0;  // the last weights
  // Whether an average of weights is what the run is after: it then has no best epoch to keep.
  virtual bool is_averaging() const { return false; }
  virtual std::optional<Model> average() const { return std::nullopt; }  // none: nothing in it yet
  virtual Evaluation evaluate(const Model& model, const Dataset& data) const = 0;
  // Other ways to look at the same model, each with a name for tables.
  virtual std::vector<NamedEvaluation> more(const Model&, const Dataset&) const { return {}; }

  // A line for each thing that is wrong with a model and no error.
  virtual std::vector<std::string> warnings(const Model&) const { return {}; }

  virtual std::string kind() const = 0;           // of checkpoints: "float training"
  virtual std::string settings_json() const = 0;  // all that decides the numbers, an object
  virtual Origin origin() const { return {}; }    // more words for model files

  // State beside the loop's own: a learner made with the same settings that takes it goes on to
  // the same weights. The views live as long as the learner is left alone.
  virtual void put_state(Words& words, std::vector<NamedTensorView>& tensors) const = 0;
  virtual void take_state(const Checkpoint& checkpoint) = 0;

  virtual std::size_t peak_bytes() const = 0;  // of values, errors and partial gradients
};

}  // namespace nibble::inline epoch_loop
