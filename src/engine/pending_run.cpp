// SPDX-License-Identifier: Apache-2.0
// Waits for runs.
#include "nibble/engine/engine.h"

#include <utility>

#include "engine/pending_states.h"

namespace nibble::inline engine {

void PendingState::end(std::exception_ptr with) {
  // Told with the mutex held: who waits gives the state back only after it is free.
  const std::lock_guard lock(mutex);
  error = std::move(with);
  is_done = true;
  has_ended.notify_all();
}

PendingState* PendingStates::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    all_.emplace_back();
    if (free_.capacity() < all_.size()) free_.reserve(2 * all_.size());
    return &all_.back();
  }
  PendingState* state = free_.back();
  free_.pop_back();
  return state;
}

void PendingStates::give(PendingState* state) noexcept {
  state->is_done = false;
  state->error = nullptr;
  const std::lock_guard lock(mutex_);
  free_.push_back(state);  // there is room for all
}

PendingRun::PendingRun(std::shared_ptr<PendingStates> states)
    : states_(std::move(states)), state_(states_->take()) {}

PendingRun::PendingRun(PendingRun&& other) noexcept
    : states_(std::move(other.states_)), state_(std::exchange(other.state_, nullptr)) {}

PendingRun& PendingRun::operator=(PendingRun&& other) noexcept {
  if (this == &other) return *this;
  release();
  states_ = std::move(other.states_);
  state_ = std::exchange(other.state_, nullptr);
  return *this;
}

PendingRun::~PendingRun() {
  release();
}

void PendingRun::release() noexcept {
  if (state_ == nullptr) return;
  {
    std::unique_lock lock(state_->mutex);
    state_->has_ended.wait(lock, [&] { return state_->is_done; });
  }
  states_->give(std::exchange(state_, nullptr));
}

bool PendingRun::is_done() const {
  return wait_for(std::chrono::nanoseconds{0});
}

bool PendingRun::wait_for(std::chrono::nanoseconds time) const {
  if (state_ == nullptr) return true;
  std::unique_lock lock(state_->mutex);
  return state_->has_ended.wait_for(lock, time, [&] { return state_->is_done; });
}

void PendingRun::get() {
  if (state_ == nullptr) return;
  std::exception_ptr error;
  {
    std::unique_lock lock(state_->mutex);
    state_->has_ended.wait(lock, [&] { return state_->is_done; });
    error = state_->error;
  }
  release();
  if (error) std::rethrow_exception(error);
}

}  // namespace nibble::inline engine
