// SPDX-License-Identifier: Apache-2.0
// Integer-only training to the loop over epochs: batches, session, average, frozen models.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "epoch_loop/learner.h"
#include "epoch_loop/training_data.h"
#include "integer_step/steady_session.h"
#include "integer_step/tape.h"
#include "integer_step/trained_tensor.h"
#include "integer_training/answers.h"
#include "integer_training/integer_averager.h"
#include "integer_training/integer_batcher.h"
#include "integer_training/integer_evaluator.h"
#include "integer_training/integer_model.h"
#include "nibble/graph/network.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline integer_training {

// The weights of a model as integer training begins with them.

// Into all weights of the network, which are those of a first step by this rule; the model is one
// that start_from accepted.
void write_start(const Model& start, const UpdateRule& rule,
                 std::span<TrainedTensor* const> parameters);

// What one step of integer training shows: shifts, saturation, weights at the rails, weights moved.

// Fills in how the values and errors of a step, the first images', are spread; for its tape, while
// it runs; each once, though a lost device's step is made again. `step` counts from 1, as after it.
PointObserver point_observer(std::int64_t epoch, std::int64_t step, Observation& observation);

// After the step.
void observe_integers(const IntegerTape& tape, std::int64_t epoch, std::int64_t step,
                      Observation& observation);

class IntegerLearner final : public Learner {
 public:
  // The data must outlive the learner; the recipe is complete. `cluster` null: alone.
  IntegerLearner(IntegerRecipe recipe, const TrainingData& data, Communicator* cluster);

  StepResult step(const StepPlan& plan) override;
  StepResult rest() override { return told(0); }
  std::int64_t steps() const override { return session_.steps(); }
  double rate() const override { return rate_; }

  void end_epoch(std::int64_t) override {}

  Model snapshot() const override;
  bool is_averaging() const override { return recipe_.average_from > 0; }
  std::optional<Model> average() const override;
  Evaluation evaluate(const Model& model, const Dataset& data) const override;
  std::vector<NamedEvaluation> more(const Model& model, const Dataset& data) const override;
  std::vector<std::string> warnings(const Model& model) const override;

  std::string kind() const override { return "integer training"; }
  std::string settings_json() const override { return to_json(recipe_); }
  Origin origin() const override { return {{"arithmetic", "int8"}}; }

  void put_state(Words& words, std::vector<NamedTensorView>& tensors) const override;
  void take_state(const Checkpoint& checkpoint) override;

  std::size_t peak_bytes() const override;

 private:
  bool moves_exponents() const { return std::holds_alternative<SgdUpdate>(recipe_.options.update); }
  StepResult told(std::size_t left);  // of all steps but the last ones
  void trace_into(StepTrace* trace);
  Evaluation evaluate(const Model& model, const Dataset& data, ShiftRule rule) const;
  void read_state(Words& words, std::vector<NamedTensorView>& tensors) const;
  // `running` empty: batch norms have the statistics of calibration images.
  Model frozen(const std::vector<WeightsState>& states,
               std::span<const RunningStatistics> running) const;
  const std::vector<WeightsState>& states() const;
  IntegerEvaluator& evaluator() const;

  const IntegerRecipe recipe_;
  const TrainingData& data_;
  Communicator* cluster_;
  mutable SteadySession session_;  // whoever reads it may find its device lost
  InputScale scale_;
  IntegerBatcher batcher_;
  IntegerAverager averager_;
  IntegerAverager::Saved saved_average_;  // with the session's snapshot
  std::deque<ExpectedAnswers> untold_;
  mutable IntegerEvaluator evaluator_;
  mutable IntegerBatcher calibration_;
  // Of the weights as they are: read once, whoever asks between two steps.
  mutable std::vector<WeightsState> states_;
  mutable std::vector<RunningStatistics> running_;
  mutable std::optional<Model> snapshot_;
  mutable std::int64_t states_steps_ = -1;  // when they were read
  double rate_ = 0;                         // of the last step: μ, or of the rule sgd
};

}  // namespace nibble::inline integer_training
