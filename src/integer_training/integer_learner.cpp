// SPDX-License-Identifier: Apache-2.0
// Integer-only training to the loop over epochs.
#include "integer_training/integer_learner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/warning.h"
#include "integer_training/answers.h"
#include "integer_training/integer_model.h"
#include "integer_training/integer_observation.h"
#include "integer_training/integer_start.h"
#include "integer_training/rate_course.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline integer_training {
namespace {

void tell_loss(const std::string& what, std::int64_t from_step) {
  warn("the run went on on the CPU, from its snapshot of step " + std::to_string(from_step) +
       " and to the same weights: " + what);
}

}  // namespace

IntegerLearner::IntegerLearner(IntegerRecipe recipe, const TrainingData& data,
                               Communicator* cluster)
    : recipe_(std::move(recipe)),
      data_(data),
      cluster_(cluster),
      session_(recipe_.network, recipe_.options, cluster, tell_loss),
      scale_(input_scale(input_of(recipe_.network), data.train)),
      batcher_(data.train, scale_, session_.tape().answer_picture().channels),
      averager_(recipe_.options.update) {
  if (recipe_.start)
    write_start(*recipe_.start, recipe_.options.update, session_.tape().parameters());
  if (session_.runs_ahead()) batcher_.leave_gathering();
}

StepResult IntegerLearner::step(const StepPlan& plan) {
  const IntegerBatch batch = batcher_.load(plan.indices, recipe_.augment,
                                           {recipe_.seed, static_cast<std::uint32_t>(plan.epoch)},
                                           RankShare::of(cluster_));
  rate_ = told_rate(recipe_, plan.position, plan.epoch);
  session_.set_update(update_of_step(recipe_, plan.position, plan.epoch, batch.all_images));
  if (plan.observation != nullptr)
    session_.tape().set_observer(
        point_observer(plan.epoch + 1, session_.steps() + 1, *plan.observation));
  session_.submit(batch);
  untold_.push_back({{batch.labels.begin(), batch.labels.end()},
                     {batch.targets.begin(), batch.targets.end()},
                     batch.input.images,
                     batch.all_images});
  if (is_averaging())
    averager_.see(plan.position, recipe_.average_from, session_.tape().parameters());
  if (plan.observation != nullptr) {
    session_.tape().set_observer(nullptr);
    observe_integers(session_.tape(), plan.epoch + 1, session_.steps(), *plan.observation);
  }
  return told(session_.runs_ahead() ? 1 : 0);
}

StepResult IntegerLearner::told(std::size_t left) {
  StepResult all{.steps = 0};
  for (; untold_.size() > left; untold_.pop_front()) {
    const Untold& step = untold_.front();
    const IntegerAnswers answers = session_.take_answers();
    AnswerSums sums(recipe_.network, data_.train);
    if (step.images > 0)
      sums.add(answers, {.input = {.images = step.images},
                         .labels = step.labels,
                         .targets = step.targets,
                         .all_images = step.all_images});
    constexpr int kLossBits = 20;  // sums over ranks are of integers
    std::array<std::int64_t, 2> totals{std::llround(std::ldexp(sums.loss_sum(), kLossBits)),
                                       sums.correct()};
    if (cluster_ != nullptr) cluster_->sum(totals);
    all.add({.loss_sum = std::ldexp(static_cast<double>(totals[0]), -kLossBits),
             .correct = totals[1],
             .images = step.all_images,
             .steps = 1,
             .step = session_.steps() - static_cast<std::int64_t>(untold_.size()) + 1});
  }
  return all;
}

// What was learned with shifts and statistics from examples of the train split, all in one batch,
// without augmentation.
Model IntegerLearner::frozen(const std::vector<WeightsState>& states) const {
  std::vector<ModelTensor> trained;
  for (std::size_t i = 0; i < states.size(); ++i) {
    trained.push_back(model_tensor(*session_.tape().parameters()[i], states[i]));
  }
  IntegerPredictor predictor(recipe_.network, session_.device(), cluster_);
  for (std::size_t i = 0; i < trained.size(); ++i)
    predictor.set_weight(i, trained[i].tensor, trained[i].exponent);
  const auto count =
      std::min<std::size_t>(data_.indices.size(), static_cast<std::size_t>(recipe_.calibration));
  IntegerBatcher batcher(data_.train, scale_, predictor.answer_picture().channels);
  const IntegerBatch batch = batcher.load(std::span(data_.indices).first(count), {}, {});
  return integer_model(recipe_.network, std::move(trained), predictor.calibrate(batch.input));
}

// The loop asks several times between two steps; shifts are found once.
Model IntegerLearner::snapshot() const {
  if (!snapshot_ || snapshot_steps_ != session_.steps()) {
    std::vector<WeightsState> weights;
    for (const TrainedTensor* each : session_.tape().parameters()) weights.push_back(each->read());
    snapshot_ = frozen(weights);
    snapshot_steps_ = session_.steps();
  }
  return copy_of(*snapshot_);
}

std::optional<Model> IntegerLearner::average() const {
  if (averager_.count() == 0) return std::nullopt;
  std::vector<WeightsState> weights;
  for (std::size_t i = 0; i < session_.tape().parameters().size(); ++i)
    weights.push_back(averager_.mean(i));
  return frozen(weights);
}

IntegerEvaluationOptions IntegerLearner::evaluation_options() const {
  return {.device = session_.device(), .communicator = cluster_};
}

Evaluation IntegerLearner::evaluate(const Model& model, const Dataset& data) const {
  return evaluate_integers(model, data, ShiftRule::frozen, evaluation_options());
}

std::vector<NamedEvaluation> IntegerLearner::more(const Model& model, const Dataset& data) const {
  return {{"batch_shifts", evaluate_integers(model, data, ShiftRule::exact, evaluation_options())}};
}

}  // namespace nibble::inline integer_training
