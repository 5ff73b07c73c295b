// SPDX-License-Identifier: Apache-2.0
// Training in floats and simulated formats, as the loop over epochs knows it.
#pragma once

#include "epoch_loop/learner.h"
#include "epoch_loop/training_data.h"
#include "float_training/averager.h"
#include "float_training/batcher.h"
#include "float_training/steady_float_session.h"
#include "nibble/float_training/recipe.h"

namespace nibble::inline float_training {

class FloatLearner final : public Learner {
 public:
  // The data must outlive the learner. The recipe is complete: its network has the input's
  // normalization, its policy the network's own rules.
  FloatLearner(Recipe recipe, const TrainingData& data);

  StepResult step(const StepPlan& plan) override;
  std::int64_t steps() const override { return session_->steps(); }
  double rate() const override { return rate_; }
  void tell(EventSink& events) const override;

  void end_epoch(std::int64_t epoch) override;
  void see(const EpochRow& row) override;

  Model snapshot() const override { return session_->snapshot(); }
  bool is_averaging() const override { return recipe_.averaging.is_on(); }
  std::optional<Model> average() const override;
  Evaluation evaluate(const Model& model, const Dataset& data) const override;

  std::string kind() const override { return "float training"; }
  std::string settings_json() const override { return to_json(recipe_); }
  Origin origin() const override { return {{"policy", recipe_.policy.name}}; }

  void put_state(Words& words, std::vector<NamedTensorView>& tensors) const override;
  void take_state(const Checkpoint& checkpoint) override;

  std::size_t peak_bytes() const override { return session_->peak_bytes(); }

 private:
  StepResult step_with(Session& session, const StepPlan& plan);
  void add_to_average(std::int64_t epoch, bool is_end_of_epoch);

  const Recipe recipe_;
  const TrainingData& data_;
  SteadyFloatSession session_;
  Batcher batcher_;
  Averager averager_;
  PlateauState plateau_;
  double rate_ = 0;  // of the last step
};

}  // namespace nibble::inline float_training
