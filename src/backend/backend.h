// SPDX-License-Identifier: Apache-2.0
// The seam: who computes. Layers say what is computed; a backend says how, in memory, layout and
// order of its own, with the same integers as every other one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "backend/cases.h"
#include "backend/parcel.h"
#include "backend/values.h"
#include "core/step_trace.h"

namespace nibble::inline backend {

// A weight or bias in a backend's memory.
class Weights {
 public:
  virtual ~Weights() = default;
  // The mantissas as they are now, and behind them, where asked for, the fine numbers in 32 bits.
  virtual std::unique_ptr<Departure> leave(bool with_fine) const;
  virtual void write(const WeightsState& state) = 0;
  virtual WeightsState read() const = 0;
  virtual void read_mantissas(std::span<std::int8_t> mantissas) const = 0;
  virtual int exponent() const = 0;
  virtual UpdateRecord last_update() const = 0;
};

// The gradient of one weight before rounding: exact sums, in units of 2^exponent. Whoever makes
// them writes the exponent beside them, where an update finds it.
class Sums {
 public:
  virtual ~Sums() = default;
  virtual int read(std::span<std::int64_t> sums) = 0;  // of all ranks; returns the exponent
  virtual void write(std::span<const std::int64_t> sums, int exponent) = 0;
  // So many sums as they are now, in 32 bits each where they fit, else in 64.
  virtual std::unique_ptr<Departure> leave(std::size_t size, bool fits_32);
  // What has left another backend so.
  virtual void arrive(Departure& departure, std::size_t size);
};

// A batch norm that is frozen: R((sum + bias)·multiplier, shift) of every channel, held within
// ±127, in units of 2^exponent. Bias and multiplier are numbers of 32 bits: the fine ones of
// weights.
struct FrozenLine {
  const Weights* bias = nullptr;
  const Weights* multiplier = nullptr;
  int shift = 0;
  int exponent = 0;
};

// Sums of a weight's mantissas over some steps, 32 bits each, for their mean.
class WeightTotals {
 public:
  virtual ~WeightTotals() = default;
  virtual void add(const Weights& weights) = 0;  // as they are now
  virtual void read(std::span<std::int32_t> totals) const = 0;
  virtual void write(std::span<const std::int32_t> totals) = 0;
};

// The three products of a convolution or linear layer. Each writes the exponent of its result.
class ProductOp {
 public:
  virtual ~ProductOp() = default;
  virtual void forward(const Values& input, const Weights& weight, const Weights* bias,
                       ShiftPoint point, const Values& output) = 0;
  // The sums alone, as values of 16 bits for a batch norm (laws/batch_norm.h: norm_value); the
  // exponent of the output is that of the sums. With a line they leave as its values of 8 bits.
  virtual void forward_sums(const Values& input, const Weights& weight, const FrozenLine* line,
                            const Values& output) = 0;
  virtual void input_error(const Values& error, const Weights& weight, ShiftPoint point,
                           const Values& input_error) = 0;
  virtual void weight_gradient(const Values& input, const Values& error, Sums& sums) = 0;
  // Both. The gradient needs no shift: ranks may wait for that of the input's error meanwhile.
  virtual void backward(const Values& input, const Values& error, const Weights& weight,
                        ShiftPoint point, const Values& input_error, Sums& sums) {
    weight_gradient(input, error, sums);
    this->input_error(error, weight, point, input_error);
  }
};

// `marks`, of storage u8, tell which number of a window was the largest; a mean has none.
class PoolOp {
 public:
  virtual ~PoolOp() = default;
  virtual void forward(const Values& input, ShiftPoint point, const Values& marks,
                       const Values& output) = 0;
  virtual void input_error(const Values& error, const Values& marks, ShiftPoint point,
                           const Values& input_error) = 0;
};

// Batch norm in training. What it remembers of a batch serves the way back.
class NormalizationOp {
 public:
  virtual ~NormalizationOp() = default;
  // `product` is the weight of the product whose sums of 16 bits are read; null: values are.
  virtual void forward(const Values& input, const Weights* product, const Weights& scale,
                       const Weights& shift, ShiftPoint point, const Values& output) = 0;
  // And the gradients of scale and shift, which are those of all ranks already. No memory of
  // `input_error`: nobody wants it.
  virtual void backward(const Values& input, const Values& error, ShiftPoint point,
                        const Values& input_error, Sums& scale, Sums& shift) = 0;
  virtual NormalizationRecord record() = 0;
  // Where the case asks for it; a run that goes on writes what it had.
  virtual RunningStatistics running() = 0;
  virtual void set_running(const RunningStatistics& running) = 0;
  // Of values of 8 bits that no product feeds.
  virtual void forward_frozen(const Values& input, const FrozenLine& line,
                              const Values& output) = 0;
};

// Numbers on their way to the host.
class StoredLater {
 public:
  virtual ~StoredLater() = default;
  // Waits for them; returns their exponent.
  virtual int get(std::span<std::int8_t> mantissas) = 0;
};

enum class TrainPass : std::uint8_t { forward, input_error, weight_gradient, update };
std::string_view name_of(TrainPass pass);

// Operations run in the order in which they are called, and may end later, on a GPU; what is read
// by the host waits for them. One thread calls.
class IntegerBackend {
 public:
  IntegerBackend() = default;
  IntegerBackend(const IntegerBackend&) = delete;
  IntegerBackend& operator=(const IntegerBackend&) = delete;
  virtual ~IntegerBackend() = default;

  virtual std::string name() const = 0;
  // The name, and what else its speed depends on: model, driver, settings. Costs are kept under it.
  virtual std::string identity() const { return name(); }

  // Memory. What no operation writes of it is zero to all who read it.
  virtual MemoryHandle take(const Picture& picture, std::int64_t images,
                            ValueStorage storage = ValueStorage::s8) = 0;
  virtual Slot new_slot() = 0;
  virtual ShiftPoint new_point(const ShiftPointCase& point) = 0;
  virtual std::unique_ptr<Weights> weights(const WeightsCase& weights) = 0;
  virtual std::unique_ptr<Sums> sums(const WeightsCase& weights) = 0;
  virtual std::unique_ptr<WeightTotals> totals(const WeightsCase& weights);  // zeros at first
  virtual std::size_t peak_bytes() const = 0;
  virtual std::int64_t free_bytes() const { return 0; }  // that nobody has; 0: it does not say

  // To and from the host: mantissas image after image, (row, column, channel).
  virtual void load(std::span<const std::int8_t> mantissas, int exponent, const Values& to) = 0;
  // Bytes by a table of 256 mantissas for every channel of the data.
  virtual void load_bytes(std::span<const std::uint8_t> bytes, std::span<const std::int8_t> tables,
                          int exponent, const Values& to) = 0;
  // Images of a data set, by the same tables; a backend may keep the whole set in its memory.
  virtual void load_images(const ImageSelection& images, std::span<const std::int8_t> tables,
                           int exponent, const Values& to);
  // `from` may be the first images alone of what is there.
  virtual void store(const Values& from, std::span<std::int8_t> mantissas) = 0;
  virtual void store_sums(const Values& from, std::span<std::int16_t> sums) = 0;  // of 16 bits
  // The numbers as they are now, without waiting for them where the backend runs_ahead().
  virtual std::unique_ptr<StoredLater> store_later(const Values& from);
  virtual bool runs_ahead() const { return false; }   // of the host: the next step may be asked for
  virtual bool shares_host() const { return false; }  // runs ahead on the host's own processor
  // On the way to another backend and from one, while both work on (parcel.h). What has left holds
  // mantissas as store() gives them; what lands is sent before it arrives.
  virtual std::unique_ptr<Departure> leave(const Values& from);
  virtual std::unique_ptr<Landing> land(std::size_t bytes);
  virtual void arrive(Landing& landing, const Values& to);
  virtual WireKind wire() const { return WireKind::pageable; }
  virtual bool use_wire(WireKind kind) { return kind == WireKind::pageable; }  // false: has none
  // What was asked for begins: the host turns to something else.
  virtual void start() {}
  virtual SlotTable read_slots() = 0;
  virtual int read_exponent(const Values& of);  // 0 where there is none
  virtual void set_point(ShiftPoint point, const PointState& state) = 0;

  // Every step begins here; enter() says which layer computes, for those who report.
  virtual void begin(const StepContext& step) = 0;
  void enter(std::string_view node, TrainPass pass);
  // And ends here: whoever gathers operations runs them now.
  virtual void end() {}
  // From here on the trace is told what runs when; null: no longer, and all that ran is told.
  virtual void set_trace(StepTrace* trace) { trace_ = trace; }

  virtual std::unique_ptr<ProductOp> product(const ProductCase& product) = 0;
  virtual std::unique_ptr<PoolOp> pool(const PoolCase& pool) = 0;
  virtual std::unique_ptr<NormalizationOp> normalization(const NormalizationCase& norm) = 0;
  // The result may have the memory of the first operand, except where something is rounded or
  // moved.
  virtual void pointwise(const PointCase& point, std::span<const Values> from,
                         const Values& to) = 0;
  // The sum of errors of every channel over images and pixels.
  virtual void bias_gradient(const Values& error, Sums& sums) = 0;
  virtual void loss(const LossCase& loss, const Values& answers, const Values& error) = 0;

  // Sums over all ranks, so that every rank then makes the same update.
  virtual void reduce(Sums& sums) = 0;
  virtual void update(Weights& weights, Sums& sums) = 0;

 private:
  virtual void entered(std::string_view, TrainPass) {}

  StepTrace* trace_ = nullptr;
};

// "cpu", "reference", "check(cpu,reference)", and who is registered: "cuda", "cuda:1"; throws where
// there is none.
std::unique_ptr<IntegerBackend> make_backend(std::string_view name);

}  // namespace nibble::inline backend
