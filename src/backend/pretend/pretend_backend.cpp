// SPDX-License-Identifier: Apache-2.0
// The CPU as an accelerator.
#include "backend/pretend/pretend_backend.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "backend/pretend/pretend_device.h"
#include "nibble/core/error.h"

namespace nibble::inline backend {
namespace {

class PretendMemory final : public Memory {
 public:
  PretendMemory(PretendDevice& device, std::int64_t bytes)
      : device_(device), loan_(device.lend(bytes)) {}
  ~PretendMemory() override { device_.give_back(std::move(inner)); }

  std::shared_ptr<MemoryHandle> inner = std::make_shared<MemoryHandle>();

 private:
  PretendDevice& device_;
  PretendLoan loan_;
};

// Of the inner backend; asked for on its thread.
Values inner_of(Values values) {
  if (const auto* memory = static_cast<const PretendMemory*>(values.memory.get()))
    values.memory = *memory->inner;
  return values;
}

int packed(Departure& departure, std::span<std::byte> to) {
  std::memcpy(to.data(), departure.bytes().data(), to.size());
  return departure.exponent();
}

std::size_t bytes_of(const WeightsState& state) {
  return state.mantissas.bytes() +
         (state.fine.size() + state.momentum.size()) * sizeof(std::int32_t);
}

class PretendWeights final : public Weights {
 public:
  PretendWeights(PretendDevice& device, const WeightsCase& weights)
      : inner(device.now([&](CpuBackend& cpu) { return cpu.weights(weights); })),
        device_(device),
        size_(static_cast<std::size_t>(weights.shape.elements())),
        loan_(device.lend(weights.shape.elements())) {}

  ~PretendWeights() override { device_.settle(); }

  void write(const WeightsState& state) override {
    if (!state.fine.empty()) hold_words();
    auto kept = std::make_shared<WeightsState>(
        WeightsState{copy_of(state.mantissas.view()), state.exponent, state.fine, state.momentum});
    device_.bring(bytes_of(state), [this, kept](CpuBackend&) { inner->write(*kept); });
  }
  std::unique_ptr<Departure> leave(bool with_fine) const override {
    const std::size_t each = 1 + (with_fine ? sizeof(std::int32_t) : 0);
    return device_.leave(size_ * each, [this, with_fine](CpuBackend&, std::span<std::byte> to) {
      return packed(*inner->leave(with_fine), to);
    });
  }
  WeightsState read() const override {
    WeightsState state = device_.read([&](CpuBackend&) { return inner->read(); });
    device_.copy(bytes_of(state));
    return state;
  }
  void read_mantissas(std::span<std::int8_t> mantissas) const override {
    device_.read([&](CpuBackend&) { inner->read_mantissas(mantissas); });
    device_.copy(size_);
  }
  int exponent() const override {
    return device_.now([&](CpuBackend&) { return inner->exponent(); });
  }
  UpdateRecord last_update() const override {
    return device_.read([&](CpuBackend&) { return inner->last_update(); });
  }

  // Memory of fine numbers and momentum, which are where the weight is updated.
  void hold_words() {
    if (!words_) words_ = device_.lend(static_cast<std::int64_t>(2 * sizeof(std::int32_t) * size_));
  }

  const std::unique_ptr<Weights> inner;

 private:
  PretendDevice& device_;
  std::size_t size_;
  PretendLoan loan_;
  std::optional<PretendLoan> words_;
};

Weights* inner_of(const Weights* weights) {
  return weights == nullptr ? nullptr : static_cast<const PretendWeights*>(weights)->inner.get();
}

FrozenLine inner_of(const FrozenLine& line) {
  return {inner_of(line.bias), inner_of(line.multiplier), line.shift, line.exponent};
}

class PretendSums final : public Sums {
 public:
  PretendSums(PretendDevice& device, const WeightsCase& weights)
      : inner(device.now([&](CpuBackend& cpu) { return cpu.sums(weights); })),
        device_(device),
        loan_(device.lend(4 * weights.shape.elements())) {}  // as where 32 bits hold a sum

  int read(std::span<std::int64_t> sums) override {
    const int exponent = device_.read([&](CpuBackend&) { return inner->read(sums); });
    device_.copy(sums.size_bytes());
    return exponent;
  }
  void write(std::span<const std::int64_t> sums, int exponent) override {
    device_.bring(sums.size_bytes(), [kept = inner, all = std::vector(sums.begin(), sums.end()),
                                      exponent](CpuBackend&) { kept->write(all, exponent); });
  }
  std::unique_ptr<Departure> leave(std::size_t size, bool fits_32) override {
    const std::size_t each = fits_32 ? sizeof(std::int32_t) : sizeof(std::int64_t);
    return device_.leave(size * each,
                         [kept = inner, size, fits_32](CpuBackend&, std::span<std::byte> to) {
                           return packed(*kept->leave(size, fits_32), to);
                         });
  }

  void arrive(Departure& departure, std::size_t size) override {
    const std::span<const std::byte> bytes = departure.bytes();
    const auto parcel = std::make_shared<StoredParcel>(
        std::vector<std::byte>(bytes.begin(), bytes.end()), departure.exponent());
    device_.bring(bytes.size(),
                  [kept = inner, parcel, size](CpuBackend&) { kept->arrive(*parcel, size); });
  }

  const std::shared_ptr<Sums> inner;

 private:
  PretendDevice& device_;
  PretendLoan loan_;
};

std::shared_ptr<Sums> inner_of(Sums& sums) {
  return static_cast<PretendSums&>(sums).inner;
}

class PretendProduct final : public ProductOp {
 public:
  PretendProduct(PretendDevice& device, const ProductCase& product)
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
  PretendDevice& device_;
  std::unique_ptr<ProductOp> inner_;
};

class PretendPool final : public PoolOp {
 public:
  PretendPool(PretendDevice& device, const PoolCase& pool)
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
  PretendDevice& device_;
  std::unique_ptr<PoolOp> inner_;
};

class PretendNormalization final : public NormalizationOp {
 public:
  PretendNormalization(PretendDevice& device, const NormalizationCase& norm)
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
    return device_.read([&](CpuBackend&) { return inner_->record(); });
  }
  RunningStatistics running() override {
    return device_.read([&](CpuBackend&) { return inner_->running(); });
  }
  void set_running(const RunningStatistics& running) override {
    device_.later([this, running](CpuBackend&) { inner_->set_running(running); });
  }
  void forward_frozen(const Values& input, const FrozenLine& line, const Values& output) override {
    device_.later([=, this, own = inner_of(line)](CpuBackend&) {
      inner_->forward_frozen(inner_of(input), own, inner_of(output));
    });
  }

 private:
  PretendDevice& device_;
  std::unique_ptr<NormalizationOp> inner_;
};

class PretendBackend final : public IntegerBackend {
 public:
  explicit PretendBackend(const PretendOptions& options) : options_(options), device_(options) {}

  std::string name() const override { return "pretend"; }
  std::string identity() const override { return pretend_identity(options_); }
  bool runs_ahead() const override { return true; }
  bool shares_host() const override { return true; }

  MemoryHandle take(const Picture& picture, std::int64_t images, ValueStorage storage) override {
    const std::int64_t each = storage == ValueStorage::s8 ? 1 : 2;
    auto memory = std::make_shared<PretendMemory>(device_, images * picture.elements() * each);
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
  std::int64_t free_bytes() const override { return device_.free_bytes(); }

  void load(std::span<const std::int8_t> mantissas, int exponent, const Values& to) override {
    device_.bring(mantissas.size(),
                  [all = std::vector(mantissas.begin(), mantissas.end()), exponent,
                   to](CpuBackend& cpu) { cpu.load(all, exponent, inner_of(to)); });
  }
  void load_bytes(std::span<const std::uint8_t> bytes, std::span<const std::int8_t> tables,
                  int exponent, const Values& to) override {
    device_.bring(bytes.size(),
                  [all = std::vector(bytes.begin(), bytes.end()),
                   table = std::vector(tables.begin(), tables.end()), exponent,
                   to](CpuBackend& cpu) { cpu.load_bytes(all, table, exponent, inner_of(to)); });
  }
  void store(const Values& from, std::span<std::int8_t> mantissas) override {
    device_.read([&](CpuBackend& cpu) { cpu.store(inner_of(from), mantissas); });
    device_.copy(mantissas.size());
  }
  void store_sums(const Values& from, std::span<std::int16_t> sums) override {
    device_.read([&](CpuBackend& cpu) { cpu.store_sums(inner_of(from), sums); });
    device_.copy(sums.size_bytes());
  }
  std::unique_ptr<Departure> leave(const Values& from) override {
    return device_.leave(static_cast<std::size_t>(from.images * from.picture.elements()),
                         [from](CpuBackend& cpu, std::span<std::byte> to) {
                           const Values inner = inner_of(from);
                           cpu.store(inner, numbers_in<std::int8_t>(to));
                           return cpu.read_exponent(inner);
                         });
  }
  std::unique_ptr<Landing> land(std::size_t bytes) override { return device_.land(bytes); }
  void arrive(Landing& landing, const Values& to) override {
    device_.arrive(landing, [to](CpuBackend& cpu, std::span<const std::byte> bytes, int exponent) {
      cpu.load(numbers_in<std::int8_t>(bytes), exponent, inner_of(to));
    });
  }
  void set_trace(StepTrace* trace) override {
    IntegerBackend::set_trace(trace);
    device_.set_trace(trace);
  }
  WireKind wire() const override { return device_.wire(); }
  bool use_wire(WireKind kind) override {
    device_.use_wire(kind);
    return true;
  }
  SlotTable read_slots() override {
    return device_.read([](CpuBackend& cpu) { return cpu.read_slots(); });
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
    static_cast<PretendWeights&>(weights).hold_words();
    device_.later([weights = inner_of(&weights), sums = inner_of(sums)](CpuBackend& cpu) {
      cpu.update(*weights, *sums);
    });
  }

 private:
  static std::span<const std::int32_t>& numbers_of(CrossEntropyLoss& loss) { return loss.labels; }
  static std::span<const std::int32_t>& numbers_of(SquaredLoss& loss) { return loss.targets; }

  PretendOptions options_;
  mutable PretendDevice device_;
};

}  // namespace

std::unique_ptr<IntegerBackend> make_pretend_backend(const PretendOptions& options) {
  return std::make_unique<PretendBackend>(options);
}

}  // namespace nibble::inline backend
