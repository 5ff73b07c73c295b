// SPDX-License-Identifier: Apache-2.0
// Snapshots, and steps made again.
#include "integer_step/steady_session.h"

#include <utility>

#include "backend/lost_device.h"

namespace nibble::inline integer_step {
namespace {

template <class Number>
void own(std::span<const Number>& numbers, std::vector<Number>& kept) {
  kept.assign(numbers.begin(), numbers.end());
  numbers = kept;
}

}  // namespace

SteadySession::SteadySession(const Network& network, const IntegerOptions& options,
                             Communicator* cluster, LossListener listener,
                             std::int64_t snapshot_every)
    : network_(network),
      options_(options),
      cluster_(cluster),
      is_guarded_((cluster == nullptr || cluster->size() == 1) &&
                  (options.device != "cpu" || !options.place.empty())),
      listener_(std::move(listener)),
      snapshot_every_(snapshot_every),
      session_(std::make_unique<IntegerSession>(network, options, cluster)) {}

void SteadySession::set_update(const UpdateRule& rule) {
  options_.update = rule;
  session_->set_update(rule);
}

void SteadySession::set_steps(std::int64_t steps) {
  session_->set_steps(steps);
  has_snapshot_ = false;
}

void SteadySession::set_companion(std::function<void()> save, std::function<void()> restore) {
  save_ = std::move(save);
  restore_ = std::move(restore);
}

void SteadySession::make_step(const IntegerBatch& batch, const std::function<void()>& after,
                              const PointObserver& observer) {
  if (observer) tape().set_observer(observer);
  session_->submit(batch);
  if (observer) tape().set_observer(nullptr);
  if (after) after();
}

void SteadySession::submit(const IntegerBatch& batch, std::function<void()> after,
                           PointObserver observer) {
  steadily([&] {
    if (is_guarded_ && (!has_snapshot_ || std::ssize(kept_) >= snapshot_every_)) take_snapshot();
  });
  if (!is_guarded_) return make_step(batch, after, observer);
  keep(batch, std::move(after), std::move(observer));
  ++untaken_;
  try {
    make_step(batch, kept_.back().after, kept_.back().observer);
    kept_.back().observer = nullptr;
  } catch (const Error& error) {
    if (!goes_on_after(error)) throw;
  }
}

IntegerAnswers SteadySession::take_answers() {
  if (ready_.empty() && is_guarded_) {
    try {
      ready_.push_back(session_->take_answers());
      --untaken_;
    } catch (const Error& error) {
      if (!goes_on_after(error)) throw;
    }
  }
  if (ready_.empty()) return session_->take_answers();
  IntegerAnswers oldest = std::move(ready_.front());
  ready_.pop_front();
  return oldest;
}

void SteadySession::take_snapshot() {
  Snapshot taken{.steps = session_->steps(),
                 .weights = {},
                 .points = tape().point_states(),
                 .loss = session_->loss_state(),
                 .running = tape().running()};
  for (const TrainedTensor* each : tape().parameters()) taken.weights.push_back(each->read());
  for (; untaken_ > 0; --untaken_) ready_.push_back(session_->take_answers());
  if (save_) save_();  // last: from here on nothing can fail
  snapshot_ = std::move(taken);
  has_snapshot_ = true;
  kept_.clear();
}

void SteadySession::write(const Snapshot& snapshot) {
  for (std::size_t i = 0; i < snapshot.weights.size(); ++i)
    tape().parameters()[i]->write(snapshot.weights[i]);
  for (std::size_t i = 0; i < snapshot.points.size(); ++i) {
    const PlacedPoint& point = tape().points()[i];
    point.backend->set_point(point.point, snapshot.points[i]);
  }
  session_->set_loss_state(snapshot.loss);
  tape().set_running(snapshot.running);
  session_->set_steps(snapshot.steps);
}

void SteadySession::keep(const IntegerBatch& batch, std::function<void()> after,
                         PointObserver observer) {
  KeptBatch& kept = kept_.emplace_back();
  kept.after = std::move(after);
  kept.observer = std::move(observer);
  kept.update = options_.update;
  kept.batch = batch;
  own(kept.batch.input.bytes, kept.bytes);
  own(kept.batch.input.tables, kept.tables);
  own(kept.batch.input.mantissas, kept.mantissas);
  own(kept.batch.labels, kept.labels);
  own(kept.batch.targets, kept.targets);
  if (kept.batch.input.selection) own(kept.batch.input.selection->indices, kept.indices);
}

bool SteadySession::goes_on_after(const Error& error) {
  if (!is_guarded_ || !has_snapshot_ || !is_of_device(error)) return false;
  go_on_without(error.what());
  return true;
}

// Answers that were taken before are the same again, and nobody asks for them.
void SteadySession::go_on_without(const std::string& what) {
  is_guarded_ = false;
  options_.device = "cpu";
  options_.place.clear();
  const std::unique_ptr<IntegerSession> lost =
      std::exchange(session_, std::make_unique<IntegerSession>(network_, options_, cluster_));
  write(snapshot_);
  if (restore_) restore_();
  const std::size_t taken = kept_.size() - untaken_;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    session_->set_update(kept_[i].update);
    make_step(kept_[i].batch, kept_[i].after, kept_[i].observer);
    IntegerAnswers answers = session_->take_answers();
    if (i >= taken) ready_.push_back(std::move(answers));
  }
  untaken_ = 0;
  kept_.clear();
  session_->set_update(options_.update);
  if (listener_) listener_(what, snapshot_.steps);
}

}  // namespace nibble::inline integer_step
