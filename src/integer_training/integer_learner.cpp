// SPDX-License-Identifier: Apache-2.0
// Integer-only training to the loop over epochs.
#include "integer_training/integer_learner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "integer_training/answers.h"
#include "integer_training/integer_model.h"
#include "integer_training/integer_observation.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline integer_training {
IntegerLearner::IntegerLearner(IntegerRecipe recipe, const TrainingData& data,
                               Communicator* cluster)
    : recipe_(std::move(recipe)),
      data_(data),
      cluster_(cluster),
      session_(recipe_.network, recipe_.options, cluster),
      scale_(input_scale(input_of(recipe_.network), data.train)),
      batcher_(data.train, scale_, session_.tape().answer_picture().channels) {
  if (session_.runs_ahead()) batcher_.leave_gathering();
}

StepResult IntegerLearner::step(const StepPlan& plan) {
  const IntegerBatch batch = batcher_.load(plan.indices, recipe_.augment,
                                           {recipe_.seed, static_cast<std::uint32_t>(plan.epoch)},
                                           RankShare::of(cluster_));
  mu_ = recipe_.mu.at(plan.epoch);
  session_.submit(batch, mu_, recipe_.bias_mu.at(plan.epoch));
  untold_.push_back({{batch.labels.begin(), batch.labels.end()},
                     {batch.targets.begin(), batch.targets.end()},
                     batch.input.images,
                     batch.all_images});
  if (is_averaging())
    averager_.see(plan.position, recipe_.average_from, session_.tape().parameters());
  if (plan.observation != nullptr)
    observe_integers(session_.tape(), plan.epoch + 1, session_.steps(), *plan.observation);
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

// Weights with shifts from examples of the train split, all in one batch, without augmentation.
Model IntegerLearner::frozen(std::vector<Tensor> weights) const {
  IntegerPredictor predictor(recipe_.network, recipe_.options.device, cluster_);
  std::vector<int> exponents;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    exponents.push_back(session_.tape().parameters()[i]->exponent());
    predictor.set_weight(i, weights[i].as<std::int8_t>(), exponents.back());
  }
  const auto count =
      std::min<std::size_t>(data_.indices.size(), static_cast<std::size_t>(recipe_.calibration));
  IntegerBatcher batcher(data_.train, scale_, predictor.answer_picture().channels);
  const IntegerBatch batch = batcher.load(std::span(data_.indices).first(count), {}, {});
  const std::vector<int> values = predictor.calibrate(batch.input);
  return integer_model(recipe_.network, std::move(weights), exponents, values);
}

// The loop asks several times between two steps; shifts are found once.
Model IntegerLearner::snapshot() const {
  if (!snapshot_ || snapshot_steps_ != session_.steps()) {
    std::vector<Tensor> weights;
    for (const TrainedTensor* each : session_.tape().parameters())
      weights.push_back(each->read().mantissas);
    snapshot_ = frozen(std::move(weights));
    snapshot_steps_ = session_.steps();
  }
  return copy_of(*snapshot_);
}

std::optional<Model> IntegerLearner::average() const {
  if (averager_.count() == 0) return std::nullopt;
  std::vector<Tensor> weights;
  for (std::size_t i = 0; i < session_.tape().parameters().size(); ++i) {
    weights.emplace_back(DType::i8, session_.tape().parameters()[i]->shape());
    std::ranges::copy(averager_.mean(i), weights.back().as<std::int8_t>().begin());
  }
  return frozen(std::move(weights));
}

IntegerEvaluationOptions IntegerLearner::evaluation_options() const {
  return {.device = recipe_.options.device, .communicator = cluster_};
}

Evaluation IntegerLearner::evaluate(const Model& model, const Dataset& data) const {
  return evaluate_integers(model, data, ShiftRule::frozen, evaluation_options());
}

std::vector<NamedEvaluation> IntegerLearner::more(const Model& model, const Dataset& data) const {
  return {{"batch_shifts", evaluate_integers(model, data, ShiftRule::exact, evaluation_options())}};
}

}  // namespace nibble::inline integer_training
