// SPDX-License-Identifier: Apache-2.0
// The state of a session that lost its device, taken by one without.
#include "float_training/steady_float_session.h"

#include <algorithm>

#include "backend/lost_device.h"

namespace nibble::inline float_training {

SteadyFloatSession::SteadyFloatSession(const Recipe& recipe)
    : recipe_(recipe), session_(std::make_unique<Session>(recipe)) {}

StepResult SteadyFloatSession::step(const std::function<StepResult(Session&)>& attempt) {
  if (!session_->has_device()) return attempt(*session_);
  const std::int64_t steps = session_->steps();
  keep_moments();
  try {
    return attempt(*session_);
  } catch (const Error& error) {
    if (!is_of_device(error) || session_->steps() != steps) throw;
    go_on_without_device();
    warn_of_loss(error.what(), steps, LossOutcome::similar_weights);
  }
  return attempt(*session_);
}

void SteadyFloatSession::keep_moments() {
  moments_.clear();
  for (const TensorView& each : session_->moments()) moments_.push_back(copy_of(each));
}

void SteadyFloatSession::go_on_without_device() {
  const std::vector<TensorView> changed = session_->moments();
  for (std::size_t i = 0; i < changed.size(); ++i)
    std::ranges::copy(moments_[i].as<float>(), changed[i].as<float>().begin());
  Checkpoint state;
  std::vector<NamedTensorView> tensors;
  session_->put_state(state.words, tensors);
  for (const NamedTensorView& each : tensors)
    state.tensors.push_back({each.name, copy_of(each.tensor)});
  on_cpu_ = recipe_;
  on_cpu_->place.clear();
  session_ = std::make_unique<Session>(*on_cpu_);
  session_->take_state(state);
}

}  // namespace nibble::inline float_training
