// SPDX-License-Identifier: Apache-2.0
// A session that outlives its device: where one is lost, the run goes on on the CPU from the last
// snapshot on the host, and the steps since then are made again, to the same weights.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "integer_step/session.h"
#include "nibble/core/error.h"

namespace nibble::inline integer_step {

class SteadySession {
 public:
  // Hears, once, what was lost and from which step on steps were made again.
  using LossListener = std::function<void(const std::string& what, std::int64_t from_step)>;

  // As IntegerSession. Alone, and with another device than the CPU, a snapshot is kept from every
  // `snapshot_every` steps; several processes end with the error, as without.
  SteadySession(const Network& network, const IntegerOptions& options, Communicator* cluster,
                LossListener listener, std::int64_t snapshot_every = 64);

  // What is made of the weights beside them: saved with a snapshot, and restored with it while the
  // backends that were lost are still there.
  void set_companion(std::function<void()> save, std::function<void()> restore);

  // What `read` gives. Where a device is lost meanwhile, this session's or one that works beside
  // it, the run goes on on the CPU and `read` is called once more.
  template <class Read>
  auto steadily(const Read& read) {
    try {
      return read();
    } catch (const Error& error) {
      if (!goes_on_after(error)) throw;
    }
    return read();
  }

  // `after` is called behind the step, and again where it is made again. `observer` looks on until
  // this returns, so where the device is lost on the way it sees again what it has seen.
  void submit(const IntegerBatch& batch, std::function<void()> after = {},
              PointObserver observer = {});
  IntegerAnswers take_answers();
  bool runs_ahead() const { return session_->runs_ahead(); }
  void set_update(const UpdateRule& rule);
  const std::string& device() const { return options_.device; }  // of all that no rule names

  IntegerTape& tape() { return session_->tape(); }
  const IntegerTape& tape() const { return session_->tape(); }
  PointState loss_state() const { return session_->loss_state(); }
  void set_loss_state(const PointState& state) { session_->set_loss_state(state); }
  std::int64_t steps() const { return session_->steps(); }
  // The state of a checkpoint was written: the next step begins with a snapshot.
  void set_steps(std::int64_t steps);

 private:
  struct Snapshot {
    std::int64_t steps = 0;
    std::vector<WeightsState> weights;
    std::vector<PointState> points;
    PointState loss;
    std::vector<RunningStatistics> running;  // of batch norms
  };
  // A batch with its own copy of what the caller may change.
  struct KeptBatch {
    UpdateRule update;
    std::function<void()> after;
    PointObserver observer;  // while it is submitted
    IntegerBatch batch;
    std::vector<std::uint8_t> bytes;
    std::vector<std::int32_t> indices;
    std::vector<std::int8_t> tables;
    std::vector<std::int8_t> mantissas;
    std::vector<std::int32_t> labels;
    std::vector<std::int32_t> targets;
  };

  void make_step(const IntegerBatch& batch, const std::function<void()>& after,
                 const PointObserver& observer);
  void keep(const IntegerBatch& batch, std::function<void()> after, PointObserver observer);
  void take_snapshot();
  void write(const Snapshot& snapshot);
  bool goes_on_after(const Error& error);  // on the CPU; false: the run cannot
  void go_on_without(const std::string& what);

  const Network& network_;
  IntegerOptions options_;
  Communicator* cluster_;
  bool is_guarded_;
  LossListener listener_;
  std::function<void()> save_;
  std::function<void()> restore_;
  std::int64_t snapshot_every_;
  std::unique_ptr<IntegerSession> session_;
  bool has_snapshot_ = false;
  Snapshot snapshot_;
  std::deque<KeptBatch> kept_;        // since the snapshot
  std::size_t untaken_ = 0;           // answers of kept steps that the session still has
  std::deque<IntegerAnswers> ready_;  // and those that came before it
};

}  // namespace nibble::inline integer_step
