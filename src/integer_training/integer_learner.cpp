// SPDX-License-Identifier: Apache-2.0
// Integer-only training to the loop over epochs.
#include "integer_training/integer_learner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "backend/lost_device.h"
#include "graph/batch_norm.h"
#include "integer_training/integer_model.h"
#include "integer_training/rate_course.h"
#include "integer_training/running_norms.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline integer_training {
namespace {

void tell_loss(const std::string& what, std::int64_t from_step) {
  warn_of_loss(what, from_step, LossOutcome::same_weights);
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
      averager_(recipe_.options.update),
      evaluator_(recipe_.network, {.device = recipe_.options.device, .communicator = cluster}),
      calibration_(data.train, scale_, session_.tape().answer_picture().channels) {
  if (recipe_.start)
    write_start(*recipe_.start, recipe_.options.update, session_.tape().parameters());
  if (session_.runs_ahead()) batcher_.leave_gathering();
  if (is_averaging())
    session_.set_companion(
        [this] { saved_average_ = averager_.save(); },
        [this] { averager_.restore(saved_average_, session_.tape().parameters()); });
}

StepResult IntegerLearner::step(const StepPlan& plan) {
  if (plan.trace != nullptr) {
    trace_into(plan.trace);
    plan.trace->enter("batch");
  }
  const IntegerBatch batch = batcher_.load(plan.indices, recipe_.augment,
                                           {recipe_.seed, static_cast<std::uint32_t>(plan.epoch)},
                                           RankShare::of(cluster_));
  rate_ = told_rate(recipe_, plan.position, plan.epoch);
  session_.set_update(update_of_step(recipe_, plan.position, plan.epoch, batch.all_images));
  PointObserver observer;
  if (plan.observation != nullptr)
    observer = point_observer(plan.epoch + 1, session_.steps() + 1, *plan.observation);
  const auto after = [this, position = plan.position] {
    if (is_averaging()) averager_.see(position, recipe_.average_from, session_.tape().parameters());
  };
  session_.submit(batch, after, std::move(observer));
  untold_.emplace_back(batch);
  if (plan.observation != nullptr) {
    const Observation of_points = *plan.observation;
    session_.steadily([&] {
      *plan.observation = of_points;
      observe_integers(session_.tape(), plan.epoch + 1, session_.steps(), *plan.observation);
    });
  }
  constexpr std::size_t kStepsAhead = 2;  // of what is told: a device always has work
  if (plan.trace == nullptr) return told(session_.runs_ahead() ? kStepsAhead : 0);
  plan.trace->enter("wait for answers");
  const StepResult all = told(0);
  plan.trace->leave();
  trace_into(nullptr);
  return all;
}

void IntegerLearner::trace_into(StepTrace* trace) {
  session_.steadily([&] { session_.tape().set_trace(trace); });
}

StepResult IntegerLearner::told(std::size_t left) {
  StepResult all{.steps = 0};
  for (; untold_.size() > left; untold_.pop_front()) {
    const IntegerBatch step = untold_.front().batch();
    const IntegerAnswers answers = session_.take_answers();
    AnswerSums sums(recipe_.network, data_.train);
    if (step.input.images > 0) sums.add(answers, step);
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

// What was learned with shifts and statistics from examples of the train split, as one batch;
// batches that trained say nothing of an average of weights.
// Batch norms want the statistics that the weights were trained with, those of augmented pictures:
// the black borders of crops alone move them by points of accuracy.
Model IntegerLearner::frozen(const std::vector<WeightsState>& states,
                             std::span<const RunningStatistics> running) const {
  std::vector<ModelTensor> trained;
  for (std::size_t i = 0; i < states.size(); ++i) {
    trained.push_back(model_tensor(*session_.tape().parameters()[i], states[i]));
  }
  const auto count = std::min(static_cast<std::int64_t>(data_.indices.size()), recipe_.calibration);
  const bool has_norms = has_batch_norm(recipe_.network);
  constexpr std::uint32_t kNoEpoch = 0xFFFFFFFF;
  const auto load = [&](std::int64_t first, std::int64_t images) {
    const auto indices =
        std::span(data_.indices)
            .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(images));
    return calibration_
        .load(indices, has_norms ? recipe_.augment : AugmentOptions{}, {recipe_.seed, kNoEpoch})
        .input;
  };
  // Pictures that stay on the disk are more than memory holds: as many at a time as a step has.
  Calibration found = evaluator().calibrate(
      trained, {.images = count,
                .most = data_.train.images.is_in_memory() ? count : std::min(count, recipe_.batch),
                .load = load});
  if (!running.empty())
    found.norms = running_norms(recipe_.network, trained, found.exponents, running);
  return integer_model(recipe_.network, std::move(trained), found);
}

const std::vector<WeightsState>& IntegerLearner::states() const {
  if (states_steps_ != session_.steps()) {
    states_.clear();
    snapshot_.reset();
    for (const TrainedTensor* each : session_.tape().parameters()) states_.push_back(each->read());
    running_ = session_.tape().running();
    states_steps_ = session_.steps();
  }
  return states_;
}

// The loop asks several times between two steps; shifts are found once.
Model IntegerLearner::snapshot() const {
  return session_.steadily([&] {
    const std::vector<WeightsState>& weights = states();
    if (!snapshot_) snapshot_ = frozen(weights, running_);
    return copy_of(*snapshot_);
  });
}

std::optional<Model> IntegerLearner::average() const {
  if (averager_.count() == 0) return std::nullopt;
  return session_.steadily([&] {
    std::vector<WeightsState> weights;
    for (std::size_t i = 0; i < session_.tape().parameters().size(); ++i)
      weights.push_back(averager_.mean(i));
    return frozen(weights, {});
  });
}

// Where the run is: it may have lost its device.
IntegerEvaluator& IntegerLearner::evaluator() const {
  evaluator_.use(session_.device());
  return evaluator_;
}

Evaluation IntegerLearner::evaluate(const Model& model, const Dataset& data, ShiftRule rule) const {
  return session_.steadily([&] { return evaluator().evaluate(model, data, rule); });
}

Evaluation IntegerLearner::evaluate(const Model& model, const Dataset& data) const {
  return evaluate(model, data, ShiftRule::frozen);
}

std::vector<NamedEvaluation> IntegerLearner::more(const Model& model, const Dataset& data) const {
  return {{"batch_shifts", evaluate(model, data, ShiftRule::exact)}};
}

std::vector<std::string> IntegerLearner::warnings(const Model& model) const {
  const std::string held = held_norms_warning(held_norms(model));
  return held.empty() ? std::vector<std::string>{} : std::vector{held};
}

std::size_t IntegerLearner::peak_bytes() const {
  return session_.steadily([&] { return session_.tape().peak_bytes(); });
}

}  // namespace nibble::inline integer_training
