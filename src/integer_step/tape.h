// SPDX-License-Identifier: Apache-2.0
// Integer values forward, integer errors back; every layer moves its weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "graph/tape_memory.h"
#include "integer_step/layer.h"
#include "nibble/integer_step/settings.h"

namespace nibble::inline integer_step {

// Who looks on while a step runs: which pass of which node begins and ends on which backend.

// The smallest thing that is placed. Of the network's input the forward pass brings the batch in;
// of its loss it makes the first error, on the backend of the answer.
struct StepUnit {
  std::size_t node = 0;
  TrainPass pass = TrainPass::forward;
  auto operator<=>(const StepUnit&) const = default;
};

class StepWatcher {
 public:
  virtual ~StepWatcher() = default;
  virtual void begin(StepUnit unit, IntegerBackend& backend) = 0;
  virtual void end(StepUnit unit, IntegerBackend& backend) = 0;
};

// A batch on the host: bytes with a table of 256 mantissas for every channel of theirs, images of a
// data set with such tables, or mantissas that are there already.
struct InputBatch {
  std::int64_t images = 0;
  std::span<const std::uint8_t> bytes = {};
  std::optional<ImageSelection> selection = {};
  std::span<const std::int8_t> tables = {};  // empty: mantissas
  std::span<const std::int8_t> mantissas = {};
  int exponent = 0;
};

// Examples `first` to `first` + `count` - 1.
InputBatch part_of(const InputBatch& batch, std::int64_t first, std::int64_t count);

// One value or error in the memory of every backend that has it.
class Resident {
 public:
  struct Copy {
    IntegerBackend* backend;
    MemoryHandle memory;
    Slot exponent;
  };

  bool is_empty() const { return copies_.empty(); }
  void release() {
    copies_.clear();
    flights_.clear();
  }

  // A new version, on this backend alone.
  void set(IntegerBackend& backend, const Values& values);
  // A copy of the newest version.
  void add(IntegerBackend& backend, const Values& values);
  // All copies go but the one that is on this backend, or on its way there.
  void keep_for(const IntegerBackend& backend);

  const Copy* find(const IntegerBackend& backend) const;
  const Copy& first() const { return copies_.front(); }

  // Copies of the newest version that are on their way.
  void add(Flight flight) { flights_.push_back(std::move(flight)); }
  std::optional<Flight> take_flight(const IntegerBackend& to);
  bool is_on_way(const IntegerBackend& to) const;

 private:
  std::vector<Copy> copies_;
  std::vector<Flight> flights_;
};

// Sees what a point, by its name, made of sums, while the step runs.
using PointObserver =
    std::function<void(const std::string& point, IntegerBackend& backend, const Values& made)>;

class IntegerTape {
 public:
  // The network must outlive the tape. Weights are not set; those of layers that a pattern of
  // `frozen` fits get no gradient and never move.
  IntegerTape(const Network& network, const IntegerRoundings& roundings, Placement placement,
              std::span<const std::string> frozen = {},
              FrozenStatistics statistics = FrozenStatistics::calibrated);

  // Those that are trained, in the order of parameters_of(network).
  const std::vector<TrainedTensor*>& parameters() const { return parameters_; }

  // Of batch norms in the last batch, in the order of nodes.
  std::vector<NormalizationRecord> statistics() const;
  // What batch norms keep of the batches that trained, in the same order; empty where they do not,
  // and before the first.
  std::vector<RunningStatistics> running() const;
  void set_running(std::span<const RunningStatistics> running);

  // Points that keep shifts from batch to batch, and what they know, in the same order.
  const std::vector<PlacedPoint>& points() const { return points_; }
  std::vector<PointState> point_states() const;

  const Picture& input_picture() const { return pictures_[0]; }
  const Picture& answer_picture() const { return pictures_[answer_]; }

  // Runs the network on a batch; the answer lives until the next call, on the backend of the last
  // layer.
  Values forward(const StepContext& step, const InputBatch& batch);

  // Runs back from the error that `fill` writes for the answer, and moves all weights.
  template <class Fill>
  void backward(const StepContext& step, const Fill& fill) {
    const Values error = start_backward();
    watched({network_.nodes.size() - 1, TrainPass::forward}, answer_backend(),
            [&] { fill(error); });
    run_backward(step);
  }

  IntegerBackend& answer_backend() const { return placement_.of(answer_, TrainPass::forward); }

  // Tells the trace what runs when, from the next step on; null: no longer.
  void set_trace(StepTrace* trace);

  // From the next step on; null: nobody looks.
  void set_observer(PointObserver observer) { observer_ = std::move(observer); }

  // Looks on from the next step on; null: nobody.
  void set_watcher(StepWatcher* watcher) { watcher_ = watcher; }

  const Placement& placement() const { return placement_; }
  // What a step asks of each node.
  const LayerNeeds& needs(std::size_t node) const { return memory_->needs(node); }
  bool wants_error(std::size_t node) const { return memory_->wants_error(node); }
  bool goes_back(std::size_t node) const { return layers_[node] && wants_error(node); }
  bool passes_error_on(std::size_t node) const;  // to inputs, of those that want an error
  // Which units read the value; and which send an error to it, one each operand of theirs, of all
  // that are no loss.
  std::vector<StepUnit> value_readers(std::size_t node) const;
  const std::vector<StepUnit>& error_senders(std::size_t node) const { return senders_[node]; }
  IntegerLayer* layer(std::size_t node) const { return layers_[node].get(); }

  // Of all values, in the order of nodes; freezing sets the shifts that lead to them, and what
  // batch norms, in the order of nodes, know of values.
  std::vector<int> value_exponents() const;
  void thaw();  // batch norms that were frozen
  void freeze(std::span<const int> value_exponents,
              std::span<const NormalizationRecord> norms = {});

  std::size_t peak_bytes() const;

 private:
  // Values of one backend have a slot for each node, for layers that work in place share memory;
  // errors one for each that arrives, since several do before they are added.
  Slot value_slot(std::size_t node, IntegerBackend& backend);
  Slot arrival_slot(std::size_t node, IntegerBackend& backend);
  const TrainedTensor* product_before(const Node& norm, const LayerPlace& place) const;
  Slot slot(std::size_t node, std::size_t number, IntegerBackend& backend);

  Values value_at(std::size_t node, const MemoryHandle& memory, IntegerBackend& backend);
  Values fresh_value(std::size_t node, IntegerBackend& backend);
  Values fresh_error(std::size_t node, IntegerBackend& backend);
  // What is there, brought to this backend if it is elsewhere: at most once a version.
  Values value_on(std::size_t node, IntegerBackend& backend);
  Values error_on(std::size_t node, IntegerBackend& backend);
  // As soon as they are made they leave for those who will read them elsewhere.
  void send_value(std::size_t node, bool is_training);
  void send_error(std::size_t node);
  void find_senders();

  void turn_to(IntegerBackend& backend) {
    if (at_work_ != nullptr && at_work_ != &backend) at_work_->start();
    at_work_ = &backend;
  }

  template <class Body>
  void watched(StepUnit unit, IntegerBackend& backend, const Body& body) {
    turn_to(backend);
    if (watcher_ != nullptr) watcher_->begin(unit, backend);
    body();
    if (watcher_ != nullptr) watcher_->end(unit, backend);
  }

  Values start_backward();
  void run_backward(const StepContext& step);
  // From node `first` down to `last`, 1 or more; those that had an error.
  std::vector<std::size_t> go_back(const StepContext& step, std::size_t first, std::size_t last);
  void forward_node(const StepContext& step, std::size_t node);
  void backward_node(const StepContext& step, std::size_t node);
  void join_error(std::size_t node, IntegerBackend& backend, Values error);

  // Of the weights; on the backend that makes it.
  struct GradientOperands {
    Values error;
    std::vector<Values> inputs;
  };
  GradientOperands gradient_operands(std::size_t node);
  void make_gradient(const StepContext& step, std::size_t node, const GradientOperands& operands);
  void make_waiting_gradient(const StepContext& step, std::size_t node);
  bool is_overlapped(const StepContext& step, std::size_t node) const;
  // A gradient of the host, until devices have been asked for all of the way back.
  bool gradient_waits(const StepContext& step, std::size_t node) const;
  bool moves_ahead(std::size_t node) const;  // a device, what it has learned itself
  void find_last_ahead();
  void leave_for_update(const StepContext& step, std::size_t node);
  void update(std::size_t node);
  void show(std::span<const PlacedPoint> points, IntegerBackend& backend, const Values& made);

  const Network& network_;
  Placement placement_;  // before all that borrows from backends
  std::vector<IntegerBackend*> backends_;
  std::vector<Picture> pictures_;
  std::vector<std::unique_ptr<IntegerLayer>> layers_;
  std::vector<PlacedPoint> joins_;              // by node: of errors that meet
  std::optional<TapeMemory<Resident>> memory_;  // made once the layers are
  std::size_t answer_;
  std::int64_t images_ = 0;
  std::map<std::tuple<std::size_t, std::size_t, const IntegerBackend*>, Slot> slots_;
  std::vector<std::size_t> arrivals_;  // by node: slots of errors that this batch has used
  std::vector<std::vector<StepUnit>> senders_;
  std::vector<std::size_t> arrived_;   // by node: errors of this batch
  std::size_t last_ahead_ = 1;         // of the way back, of whom a device that runs ahead is asked
  IntegerBackend* at_work_ = nullptr;  // to whom the host has turned last
  std::vector<TrainedTensor*> parameters_;
  std::vector<PlacedPoint> points_;
  PointObserver observer_;
  StepWatcher* watcher_ = nullptr;
};

}  // namespace nibble::inline integer_step
