// SPDX-License-Identifier: Apache-2.0
// The CPU as an accelerator.
#include "backend/pretend/pretend_backend.h"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/pretend/work_queue.h"
#include "nibble/core/error.h"

namespace nibble::inline backend {
namespace {

using Clock = std::chrono::steady_clock;

// Others may use the processor while long waits last; short ones end in time.
void wait_until(Clock::time_point end) {
  constexpr auto kSleepError = std::chrono::microseconds(150);
  if (end - Clock::now() > 2 * kSleepError) std::this_thread::sleep_until(end - kSleepError);
  while (Clock::now() < end) continue;
}

// The thread, the backend that works on it, and what copies cost.
class Device {
 public:
  explicit Device(const PretendOptions& options) : options_(options) {}

  // Waits for what was asked for, then calls on the inner backend.
  template <class Call>
  auto now(const Call& call) {
    queue_.wait();
    return call(inner_);
  }
  template <class Work>
  void later(Work work) {
    queue_.push([this, work = std::move(work)]() mutable {
      if (options_.lost_after > 0 && ++operations_ > options_.lost_after)
        throw Error("pretend", "device", "none any more", "one that stays", ErrorKind::device);
      const Clock::time_point begin = Clock::now();
      work(inner_);
      if (options_.slowdown > 1) wait_until(begin + (Clock::now() - begin) * options_.slowdown);
    });
  }
  // Before something goes that work to come may use.
  void settle() { queue_.settle(); }
  // Memory goes back without being an operation.
  void give_back(std::shared_ptr<MemoryHandle> memory) {
    queue_.push([memory = std::move(memory)] { memory->release(); });
  }
  void copy(std::size_t bytes) const {
    wait_until(Clock::now() +
               std::chrono::nanoseconds(1000 * options_.copy_microseconds +
                                        static_cast<std::int64_t>(bytes) *
                                            options_.copy_picoseconds_a_byte / 1000));
  }

 private:
  PretendOptions options_;
  std::int64_t operations_ = 0;
  CpuBackend inner_;
  WorkQueue queue_;  // last: its thread works on the backend
};

class PretendMemory final : public Memory {
 public:
  explicit PretendMemory(Device& device) : device_(device) {}
  ~PretendMemory() override { device_.give_back(std::move(inner)); }

  std::shared_ptr<MemoryHandle> inner = std::make_shared<MemoryHandle>();

 private:
  Device& device_;
};

// Of the inner backend; asked for on its thread.
Values inner_of(Values values) {
  if (const auto* memory = static_cast<const PretendMemory*>(values.memory.get()))
    values.memory = *memory->inner;
  return values;
}

std::size_t bytes_of(const WeightsState& state) {
  return state.mantissas.bytes() +
         (state.fine.size() + state.momentum.size()) * sizeof(std::int32_t);
}

class PretendWeights final : public Weights {
 public:
  PretendWeights(Device& device, const WeightsCase& weights)
      : inner(device.now([&](CpuBackend& cpu) { return cpu.weights(weights); })),
        device_(device),
        size_(static_cast<std::size_t>(weights.shape.elements())) {}

  ~PretendWeights() override { device_.settle(); }

  void write(const WeightsState& state) override {
    device_.copy(bytes_of(state));
    auto kept = std::make_shared<WeightsState>(
        WeightsState{copy_of(state.mantissas.view()), state.exponent, state.fine, state.momentum});
    device_.later([this, kept](CpuBackend&) { inner->write(*kept); });
  }
  WeightsState read() const override {
    WeightsState state = device_.now([&](CpuBackend&) { return inner->read(); });
    device_.copy(bytes_of(state));
    return state;
  }
  void read_mantissas(std::span<std::int8_t> mantissas) const override {
    device_.now([&](CpuBackend&) { inner->read_mantissas(mantissas); });
    device_.copy(size_);
  }
  int exponent() const override {
    return device_.now([&](CpuBackend&) { return inner->exponent(); });
  }
  UpdateRecord last_update() const override {
    return device_.now([&](CpuBackend&) { return inner->last_update(); });
  }

  const std::unique_ptr<Weights> inner;

 private:
  Device& device_;
  std::size_t size_;
};

Weights* inner_of(const Weights* weights) {
  return weights == nullptr ? nullptr : static_cast<const PretendWeights*>(weights)->inner.get();
}

FrozenLine inner_of(const FrozenLine& line) {
  return {inner_of(line.bias), inner_of(line.multiplier), line.shift, line.exponent};
}

class PretendSums final : public Sums {
 public:
  PretendSums(Device& device, const WeightsCase& weights)
      : inner(device.now([&](CpuBackend& cpu) { return cpu.sums(weights); })), device_(device) {}

  int read(std::span<std::int64_t> sums) override {
    const int exponent = device_.now([&](CpuBackend&) { return inner->read(sums); });
    device_.copy(sums.size_bytes());
    return exponent;
  }
  void write(std::span<const std::int64_t> sums, int exponent) override {
    device_.copy(sums.size_bytes());
    device_.later([kept = inner, all = std::vector(sums.begin(), sums.end()),
                   exponent](CpuBackend&) { kept->write(all, exponent); });
  }

  const std::shared_ptr<Sums> inner;

 private:
  Device& device_;
};

std::shared_ptr<Sums> inner_of(Sums& sums) {
  return static_cast<PretendSums&>(sums).inner;
}

class PretendProduct final : public ProductOp {
 public:
  PretendProduct(Device& device, const ProductCase& product)
      : device_(device),
        inner_(device.now([&](CpuBackend& cpu) { return cpu.product(product); })) {}

  ~PretendProduct() override { device_.settle(); }

  void forward(const Values& input, const Weights& weight, const Weights* bias, ShiftPoint point,
               const Values& output) override {
    device_.later([=, this, weight = inner_of(&weight), bias = inner_of(bias)](CpuBackend&) {
      inner_->forward(inner_of(input), *weight, bias, point, inner_of(output));
    });
  }
  void forward_sums(const Values& input, const Weights& weight, const FrozenLine* line,
                    const Values& output) override {
    const auto own = line == nullptr ? std::nullopt : std::optional(inner_of(*line));
    device_.later([=, this, weight = inner_of(&weight)](CpuBackend&) {
      inner_->forward_sums(inner_of(input), *weight, own ? &*own : nullptr, inner_of(output));
    });
  }
  void input_error(const Values& error, const Weights& weight, ShiftPoint point,
                   const Values& input_error) override {
    device_.later([=, this, weight = inner_of(&weight)](CpuBackend&) {
      inner_->input_error(inner_of(error), *weight, point, inner_of(input_error));
    });
  }
  void weight_gradient(const Values& input, const Values& error, Sums& sums) override {
    device_.later([=, this, sums = inner_of(sums)](CpuBackend&) {
      inner_->weight_gradient(inner_of(input), inner_of(error), *sums);
    });
  }

 private:
  Device& device_;
  std::unique_ptr<ProductOp> inner_;
};

class PretendPool final : public PoolOp {
 public:
  PretendPool(Device& device, const PoolCase& pool)
      : device_(device), inner_(device.now([&](CpuBackend& cpu) { return cpu.pool(pool); })) {}

  ~PretendPool() override { device_.settle(); }

  void forward(const Values& input, ShiftPoint point, const Values& marks,
               const Values& output) override {
    device_.later([=, this](CpuBackend&) {
      inner_->forward(inner_of(input), point, inner_of(marks), inner_of(output));
    });
  }
  void input_error(const Values& error, const Values& marks, ShiftPoint point,
                   const Values& input_error) override {
    device_.later([=, this](CpuBackend&) {
      inner_->input_error(inner_of(error), inner_of(marks), point, inner_of(input_error));
    });
  }

 private:
  Device& device_;
  std::unique_ptr<PoolOp> inner_;
};

class PretendNormalization final : public NormalizationOp {
 public:
  PretendNormalization(Device& device, const NormalizationCase& norm)
      : device_(device),
        inner_(device.now([&](CpuBackend& cpu) { return cpu.normalization(norm); })) {}

  ~PretendNormalization() override { device_.settle(); }

  void forward(const Values& input, const Weights* product, const Weights& scale,
               const Weights& shift, ShiftPoint point, const Values& output) override {
    device_.later([=, this, product = inner_of(product), scale = inner_of(&scale),
                   shift = inner_of(&shift)](CpuBackend&) {
      inner_->forward(inner_of(input), product, *scale, *shift, point, inner_of(output));
    });
  }
  void backward(const Values& input, const Values& error, ShiftPoint point,
                const Values& input_error, Sums& scale, Sums& shift) override {
    device_.later([=, this, scale = inner_of(scale), shift = inner_of(shift)](CpuBackend&) {
      inner_->backward(inner_of(input), inner_of(error), point, inner_of(input_error), *scale,
                       *shift);
    });
  }
  NormalizationRecord record() override {
    return device_.now([&](CpuBackend&) { return inner_->record(); });
  }
  void forward_frozen(const Values& input, const FrozenLine& line, const Values& output) override {
    device_.later([=, this, own = inner_of(line)](CpuBackend&) {
      inner_->forward_frozen(inner_of(input), own, inner_of(output));
    });
  }

 private:
  Device& device_;
  std::unique_ptr<NormalizationOp> inner_;
};

class PretendBackend final : public IntegerBackend {
 public:
  explicit PretendBackend(const PretendOptions& options) : device_(options) {}

  std::string name() const override { return "pretend"; }
  bool runs_ahead() const override { return true; }

  MemoryHandle take(const Picture& picture, std::int64_t images, ValueStorage storage) override {
    auto memory = std::make_shared<PretendMemory>(device_);
    device_.later([inner = memory->inner, picture, images, storage](CpuBackend& cpu) {
      *inner = cpu.take(picture, images, storage);
    });
    return MemoryHandle(std::move(memory));
  }
  Slot new_slot() override {
    return device_.now([](CpuBackend& cpu) { return cpu.new_slot(); });
  }
  ShiftPoint new_point(const ShiftPointCase& point) override {
    return device_.now([&](CpuBackend& cpu) { return cpu.new_point(point); });
  }
  std::unique_ptr<Weights> weights(const WeightsCase& weights) override {
    return std::make_unique<PretendWeights>(device_, weights);
  }
  std::unique_ptr<Sums> sums(const WeightsCase& weights) override {
    return std::make_unique<PretendSums>(device_, weights);
  }
  std::size_t peak_bytes() const override {
    return device_.now([](CpuBackend& cpu) { return cpu.peak_bytes(); });
  }

  void load(std::span<const std::int8_t> mantissas, int exponent, const Values& to) override {
    device_.copy(mantissas.size());
    device_.later([all = std::vector(mantissas.begin(), mantissas.end()), exponent,
                   to](CpuBackend& cpu) { cpu.load(all, exponent, inner_of(to)); });
  }
  void load_bytes(std::span<const std::uint8_t> bytes, std::span<const std::int8_t> tables,
                  int exponent, const Values& to) override {
    device_.copy(bytes.size());
    device_.later([all = std::vector(bytes.begin(), bytes.end()),
                   table = std::vector(tables.begin(), tables.end()), exponent,
                   to](CpuBackend& cpu) { cpu.load_bytes(all, table, exponent, inner_of(to)); });
  }
  void store(const Values& from, std::span<std::int8_t> mantissas) override {
    device_.now([&](CpuBackend& cpu) { cpu.store(inner_of(from), mantissas); });
    device_.copy(mantissas.size());
  }
  void store_sums(const Values& from, std::span<std::int16_t> sums) override {
    device_.now([&](CpuBackend& cpu) { cpu.store_sums(inner_of(from), sums); });
    device_.copy(sums.size_bytes());
  }
  SlotTable read_slots() override {
    return device_.now([](CpuBackend& cpu) { return cpu.read_slots(); });
  }
  void set_point(ShiftPoint point, const PointState& state) override {
    device_.now([&](CpuBackend& cpu) { cpu.set_point(point, state); });
  }

  void begin(const StepContext& step) override {
    if (step.cluster != nullptr && step.cluster->size() > 1)
      throw Error("pretend", "processes", std::to_string(step.cluster->size()), "one",
                  ErrorKind::usage);
    StepContext alone = step;
    alone.cluster = nullptr;
    device_.later([alone](CpuBackend& cpu) { cpu.begin(alone); });
  }

  std::unique_ptr<ProductOp> product(const ProductCase& product) override {
    return std::make_unique<PretendProduct>(device_, product);
  }
  std::unique_ptr<PoolOp> pool(const PoolCase& pool) override {
    return std::make_unique<PretendPool>(device_, pool);
  }
  std::unique_ptr<NormalizationOp> normalization(const NormalizationCase& norm) override {
    return std::make_unique<PretendNormalization>(device_, norm);
  }
  void pointwise(const PointCase& point, std::span<const Values> from, const Values& to) override {
    PointCase own = point;
    if (auto* bias = std::get_if<AddBias>(&own)) bias->bias = inner_of(bias->bias);
    device_.later([own, all = std::vector(from.begin(), from.end()), to](CpuBackend& cpu) {
      std::vector<Values> inner;
      for (const Values& each : all) inner.push_back(inner_of(each));
      cpu.pointwise(own, inner, inner_of(to));
    });
  }
  void bias_gradient(const Values& error, Sums& sums) override {
    device_.later([error, sums = inner_of(sums)](CpuBackend& cpu) {
      cpu.bias_gradient(inner_of(error), *sums);
    });
  }
  // What the host has of labels and targets may be gone before it is their turn.
  void loss(const LossCase& loss, const Values& answers, const Values& error) override {
    std::visit(
        [&](auto own) {
          auto& spanned = numbers_of(own);
          device_.later([own, all = std::vector(spanned.begin(), spanned.end()), answers,
                         error](CpuBackend& cpu) mutable {
            numbers_of(own) = all;
            cpu.loss(own, inner_of(answers), inner_of(error));
          });
        },
        loss);
  }
  void reduce(Sums&) override {}  // of one process
  void update(Weights& weights, Sums& sums) override {
    device_.later([weights = inner_of(&weights), sums = inner_of(sums)](CpuBackend& cpu) {
      cpu.update(*weights, *sums);
    });
  }

 private:
  static std::span<const std::int32_t>& numbers_of(CrossEntropyLoss& loss) { return loss.labels; }
  static std::span<const std::int32_t>& numbers_of(SquaredLoss& loss) { return loss.targets; }

  mutable Device device_;
};

}  // namespace

std::unique_ptr<IntegerBackend> make_pretend_backend(const PretendOptions& options) {
  return std::make_unique<PretendBackend>(options);
}

}  // namespace nibble::inline backend
