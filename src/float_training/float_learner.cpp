// SPDX-License-Identifier: Apache-2.0
// Training in floats and simulated formats: schedule, batch, session, average.
#include "float_training/float_learner.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "float_training/probe.h"
#include "float_training/weight_quantizer.h"
#include "nibble/float_training/train.h"
#include "nibble/run_folder/best.h"

namespace nibble::inline float_training {

FloatLearner::FloatLearner(Recipe recipe, const TrainingData& data)
    : recipe_(std::move(recipe)),
      data_(data),
      session_(recipe_),
      batcher_(data.train, input_of(recipe_.network)) {}

StepResult FloatLearner::step(const StepPlan& plan) {
  if (plan.trace != nullptr) plan.trace->enter("batch");
  batcher_.load(plan.indices, recipe_.augment,
                {recipe_.seed, static_cast<std::uint32_t>(plan.epoch)});
  rate_ = rate_at(recipe_.schedule, recipe_.optimizer.rate, plan.position, plateau_);
  const StepResult result =
      session_.step([&](Session& session) { return step_with(session, plan); });
  add_to_average(plan.epoch, false);
  return result;
}

// A step that failed and is made again has the observation for itself.
StepResult FloatLearner::step_with(Session& session, const StepPlan& plan) {
  std::optional<Probe> probe;
  if (plan.observation != nullptr) {
    *plan.observation = {.events = plan.observation->events};
    probe.emplace(plan.epoch + 1, session.steps() + 1, *plan.observation);
    session.rounder().set_observer(&*probe);
  }
  if (plan.trace != nullptr) session.set_trace(plan.trace);
  const StepResult result = session.step(batcher_, rate_);
  session.rounder().set_observer(nullptr);
  if (plan.trace != nullptr) session.set_trace(nullptr);
  return result;
}

void FloatLearner::tell(EventSink& events) const {
  if (recipe_.policy.loss_scale.is_dynamic)
    events.scalar("batch/loss_scale", session_->steps(), session_->loss_scale().scale);
  if (const WireTraffic& traffic = session_->traffic(); traffic.parcels > 0) {
    events.scalar("wire/bytes_sent", session_->steps(), static_cast<double>(traffic.bytes_sent));
    events.scalar("wire/bytes_fetched", session_->steps(),
                  static_cast<double>(traffic.bytes_fetched));
  }
}

// Adds the masters to the average, every so many steps or at the end of an epoch.
void FloatLearner::add_to_average(std::int64_t epoch, bool is_end_of_epoch) {
  if (!recipe_.averaging.is_on() || epoch + 1 < recipe_.averaging.start) return;
  const std::int64_t every = recipe_.averaging.every;
  const bool is_due =
      every == 0 ? is_end_of_epoch : !is_end_of_epoch && session_->steps() % every == 0;
  if (is_due) averager_.add(session_->optimizer().masters());
}

void FloatLearner::end_epoch(std::int64_t epoch) {
  session_->check_parameters();
  add_to_average(epoch, true);
}

void FloatLearner::see(const EpochRow& row) {
  if (const auto* plateau = std::get_if<PlateauRate>(&recipe_.schedule.rate))
    update(*plateau, plateau_, metric_of(row, plateau->metric), row.epoch);
}

std::optional<Model> FloatLearner::average() const {
  if (averager_.count() == 0) return std::nullopt;
  Model model = session_->snapshot();
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    const auto mean = averager_.means()[i].as<float>();
    const float factor = session_->optimizer().weight_factor(i);
    std::ranges::transform(mean, model.parameters[i].as<float>().begin(),
                           [&](float x) { return x * factor; });
  }
  for (Node& node : model.network.nodes) {  // means lie between the grid's points
    if (!has_own_rounding(node, "weight")) node.weight = {};
  }
  measure_moments(model, recipe_.policy, data_.train, data_.indices, recipe_.batch);
  return model;
}

Evaluation FloatLearner::evaluate(const Model& model, const Dataset& data) const {
  return nibble::evaluate(model, data,
                          {.policy = &recipe_.policy, .progress = ProgressStyle::silent});
}

void FloatLearner::put_state(Words& words, std::vector<NamedTensorView>& tensors) const {
  session_->put_state(words, tensors);
  put_integer(words, "average.count", averager_.count());
  put_number(words, "last_rate", rate_);
  put_words(words, "plateau.", plateau_);
  for (NamedTensorView& mean : averager_.state()) tensors.push_back(std::move(mean));
}

void FloatLearner::take_state(const Checkpoint& checkpoint) {
  const Words& words = checkpoint.words;
  session_->take_state(checkpoint);
  rate_ = number_word(words, "last_rate");
  plateau_ = plateau_words(words, "plateau.");
  averager_.set_state(checkpoint, integer_word(words, "average.count"),
                      session_->optimizer().masters());
}

}  // namespace nibble::inline float_training
