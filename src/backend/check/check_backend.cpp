// SPDX-License-Identifier: Apache-2.0
// Two backends side by side, compared after every operation.
#include "backend/registry.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "nibble/core/error.h"

namespace nibble::inline backend {
namespace {

class TwinMemory final : public Memory {
 public:
  TwinMemory(MemoryHandle a, MemoryHandle b) : first(std::move(a)), second(std::move(b)) {}
  MemoryHandle first;
  MemoryHandle second;
};

Values with(Values values, const MemoryHandle& memory) {
  values.memory = memory;
  return values;
}

Values first_of(const Values& values) {
  const auto* twin = static_cast<const TwinMemory*>(values.memory.get());
  return twin == nullptr ? values : with(values, twin->first);
}

Values second_of(const Values& values) {
  const auto* twin = static_cast<const TwinMemory*>(values.memory.get());
  return twin == nullptr ? values : with(values, twin->second);
}

class TwinSums final : public Sums {
 public:
  TwinSums(std::unique_ptr<Sums> a, std::unique_ptr<Sums> b, std::size_t count)
      : first(std::move(a)), second(std::move(b)), size(count) {}
  int read(std::span<std::int64_t> sums) override { return first->read(sums); }
  void write(std::span<const std::int64_t> sums, int exponent) override {
    first->write(sums, exponent);
    second->write(sums, exponent);
  }

  std::unique_ptr<Sums> first;
  std::unique_ptr<Sums> second;
  std::size_t size;
};

class TwinWeights final : public Weights {
 public:
  TwinWeights(std::unique_ptr<Weights> a, std::unique_ptr<Weights> b)
      : first(std::move(a)), second(std::move(b)) {}
  void write(const WeightsState& state) override {
    first->write(state);
    second->write(state);
  }
  WeightsState read() const override { return first->read(); }
  void read_mantissas(std::span<std::int8_t> mantissas) const override {
    first->read_mantissas(mantissas);
  }
  int exponent() const override { return first->exponent(); }
  UpdateRecord last_update() const override { return first->last_update(); }

  std::unique_ptr<Weights> first;
  std::unique_ptr<Weights> second;
};

const Weights& first_of(const Weights& weights) {
  return *static_cast<const TwinWeights&>(weights).first;
}
const Weights& second_of(const Weights& weights) {
  return *static_cast<const TwinWeights&>(weights).second;
}
FrozenLine first_of(const FrozenLine& line) {
  return {&first_of(*line.bias), &first_of(*line.multiplier), line.shift, line.exponent};
}
FrozenLine second_of(const FrozenLine& line) {
  return {&second_of(*line.bias), &second_of(*line.multiplier), line.shift, line.exponent};
}
Sums& first_of(Sums& sums) {
  return *static_cast<TwinSums&>(sums).first;
}
Sums& second_of(Sums& sums) {
  return *static_cast<TwinSums&>(sums).second;
}

class CheckBackend final : public IntegerBackend {
 public:
  CheckBackend(std::unique_ptr<IntegerBackend> first, std::unique_ptr<IntegerBackend> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  std::string name() const override {
    return "check(" + first_->name() + "," + second_->name() + ")";
  }
  std::string identity() const override {
    return "check(" + first_->identity() + "," + second_->identity() + ")";
  }

  MemoryHandle take(const Picture& picture, std::int64_t images, ValueStorage storage) override {
    return MemoryHandle(std::make_shared<TwinMemory>(first_->take(picture, images, storage),
                                                     second_->take(picture, images, storage)));
  }
  Slot new_slot() override {
    second_->new_slot();
    return first_->new_slot();
  }
  ShiftPoint new_point(const ShiftPointCase& point) override {
    second_->new_point(point);
    return first_->new_point(point);
  }
  std::unique_ptr<Weights> weights(const WeightsCase& weights) override {
    return std::make_unique<TwinWeights>(first_->weights(weights), second_->weights(weights));
  }
  std::unique_ptr<Sums> sums(const WeightsCase& weights) override {
    return std::make_unique<TwinSums>(first_->sums(weights), second_->sums(weights),
                                      static_cast<std::size_t>(weights.shape.elements()));
  }
  std::size_t peak_bytes() const override { return first_->peak_bytes(); }

  void load(std::span<const std::int8_t> mantissas, int exponent, const Values& to) override {
    first_->load(mantissas, exponent, first_of(to));
    second_->load(mantissas, exponent, second_of(to));
  }
  void load_bytes(std::span<const std::uint8_t> bytes, std::span<const std::int8_t> tables,
                  int exponent, const Values& to) override {
    first_->load_bytes(bytes, tables, exponent, first_of(to));
    second_->load_bytes(bytes, tables, exponent, second_of(to));
    compare("input", to);
  }
  void load_images(const ImageSelection& images, std::span<const std::int8_t> tables, int exponent,
                   const Values& to) override {
    first_->load_images(images, tables, exponent, first_of(to));
    second_->load_images(images, tables, exponent, second_of(to));
    compare("input", to);
  }
  void store(const Values& from, std::span<std::int8_t> mantissas) override {
    first_->store(first_of(from), mantissas);
  }
  void store_sums(const Values& from, std::span<std::int16_t> sums) override {
    first_->store_sums(first_of(from), sums);
  }
  SlotTable read_slots() override { return first_->read_slots(); }
  void set_point(ShiftPoint point, const PointState& state) override {
    first_->set_point(point, state);
    second_->set_point(point, state);
  }

  void begin(const StepContext& step) override {
    StepContext own = step;
    own.settles_at_end = false;  // it compares them at once
    first_->begin(own);
    second_->begin(own);
  }
  void entered(std::string_view node, TrainPass pass) override {
    node_ = node;
    pass_ = pass;
    first_->enter(node, pass);
    second_->enter(node, pass);
  }

  void end() override {
    first_->end();
    second_->end();
  }

  std::unique_ptr<ProductOp> product(const ProductCase& product) override;
  std::unique_ptr<PoolOp> pool(const PoolCase& pool) override;
  std::unique_ptr<NormalizationOp> normalization(const NormalizationCase& norm) override;

  void pointwise(const PointCase& point, std::span<const Values> from, const Values& to) override {
    std::vector<Values> first;
    std::vector<Values> second;
    for (const Values& each : from) {
      first.push_back(first_of(each));
      second.push_back(second_of(each));
    }
    PointCase ours = point;
    PointCase theirs = point;
    if (const auto* add = std::get_if<AddBias>(&point)) {
      std::get<AddBias>(ours).bias = &first_of(*add->bias);
      std::get<AddBias>(theirs).bias = &second_of(*add->bias);
    }
    first_->pointwise(ours, first, first_of(to));
    second_->pointwise(theirs, second, second_of(to));
    compare("result", to);
  }
  void bias_gradient(const Values& error, Sums& sums) override {
    first_->bias_gradient(first_of(error), first_of(sums));
    second_->bias_gradient(second_of(error), second_of(sums));
    compare("gradient of the bias", sums);
  }
  void loss(const LossCase& loss, const Values& answers, const Values& error) override {
    first_->loss(loss, first_of(answers), first_of(error));
    second_->loss(loss, second_of(answers), second_of(error));
    compare("error of the answers", error);
  }
  void reduce(Sums& sums) override {
    first_->reduce(first_of(sums));
    second_->reduce(second_of(sums));
  }
  void update(Weights& weights, Sums& sums) override {
    auto& twins = static_cast<TwinWeights&>(weights);
    first_->update(*twins.first, first_of(sums));
    second_->update(*twins.second, second_of(sums));
    compare(twins);
  }

  IntegerBackend& first() { return *first_; }
  IntegerBackend& second() { return *second_; }

  void compare(std::string_view tensor, const Values& values) {
    const auto size = static_cast<std::size_t>(values.images * values.picture.elements());
    std::vector<std::int8_t> ours(size);
    std::vector<std::int8_t> theirs(size);
    first_->store(first_of(values), ours);
    second_->store(second_of(values), theirs);
    if (values.exponent.place >= 0) {
      compare_exponents(tensor, first_->read_slots().exponent(values),
                        second_->read_slots().exponent(values));
    }
    compare_numbers<std::int8_t>(tensor, ours, theirs);
    compare_points();
  }

  void compare_sums(std::string_view tensor, const Values& values) {
    const auto size = static_cast<std::size_t>(values.images * values.picture.elements());
    std::vector<std::int16_t> ours(size);
    std::vector<std::int16_t> theirs(size);
    first_->store_sums(first_of(values), ours);
    second_->store_sums(second_of(values), theirs);
    compare_numbers<std::int16_t>(tensor, ours, theirs);
  }

  void compare(std::string_view tensor, const NormalizationRecord& ours,
               const NormalizationRecord& theirs) {
    compare_numbers<std::int64_t>(std::string(tensor) + " (means)", ours.means, theirs.means);
    compare_numbers<std::int64_t>(std::string(tensor) + " (variances)", ours.variances,
                                  theirs.variances);
  }

  void compare(const RunningStatistics& ours, const RunningStatistics& theirs) {
    if (ours.size() != theirs.size())
      fail("channels of running statistics", std::ssize(ours), std::ssize(theirs));
    for (const auto& [part, number] :
         {std::pair{"means", &NormMoments::mean}, std::pair{"spreads", &NormMoments::spread},
          std::pair{"exponents", &NormMoments::exponent}}) {
      std::vector<std::int64_t> our_numbers;
      std::vector<std::int64_t> their_numbers;
      std::ranges::transform(ours, std::back_inserter(our_numbers), number);
      std::ranges::transform(theirs, std::back_inserter(their_numbers), number);
      compare_numbers<std::int64_t>(std::string("running statistics (") + part + ")", our_numbers,
                                    their_numbers);
    }
  }

  void compare(std::string_view tensor, Sums& sums) {
    const std::size_t size = static_cast<TwinSums&>(sums).size;
    std::vector<std::int64_t> ours(size);
    std::vector<std::int64_t> theirs(size);
    compare_exponents(tensor, first_of(sums).read(ours), second_of(sums).read(theirs));
    compare_numbers<std::int64_t>(tensor, ours, theirs);
  }

 private:
  void compare(const TwinWeights& weights) {
    const WeightsState ours = weights.first->read();
    const WeightsState theirs = weights.second->read();
    compare_exponents("weights", ours.exponent, theirs.exponent);
    compare_numbers<std::int8_t>("mantissas", ours.mantissas.as<std::int8_t>(),
                                 theirs.mantissas.as<std::int8_t>());
    compare_numbers<std::int32_t>("fine weights", ours.fine, theirs.fine);
    compare_numbers<std::int32_t>("momentum", ours.momentum, theirs.momentum);
    const UpdateRecord our_record = weights.first->last_update();
    const UpdateRecord their_record = weights.second->last_update();
    if (our_record.shift != their_record.shift)
      fail("shift of the update", our_record.shift, their_record.shift);
    if (our_record.moved != their_record.moved)
      fail("weights moved", our_record.moved, their_record.moved);
  }

  void compare_exponents(std::string_view tensor, int ours, int theirs) const {
    if (ours != theirs) fail(std::string(tensor) + ", exponent", ours, theirs);
  }

  template <class Number>
  void compare_numbers(std::string_view tensor, std::span<const Number> ours,
                       std::span<const Number> theirs) const {
    const auto [at, other] = std::ranges::mismatch(ours, theirs);
    if (at == ours.end()) return;
    fail(std::string(tensor) + ", element " + std::to_string(at - ours.begin()), *at, *other);
  }

  void compare_points() {
    const SlotTable ours = first_->read_slots();
    const SlotTable theirs = second_->read_slots();
    for (std::size_t i = 0; i < ours.points.size(); ++i) {
      const PointState& a = ours.points[i];
      const PointState& b = theirs.points[i];
      if (a.shift != b.shift) fail("shift", a.shift, b.shift);
      if (a.saturated != b.saturated) fail("saturated results", a.saturated, b.saturated);
      if (a.elements != b.elements) fail("elements", a.elements, b.elements);
      if (a.batches != b.batches) fail("batches", a.batches, b.batches);
    }
  }

  [[noreturn]] void fail(const std::string& what, std::int64_t ours, std::int64_t theirs) const {
    throw Error(name(), "layer " + node_ + ", " + std::string(name_of(pass_)) + ", " + what,
                std::to_string(ours) + " of " + first_->name(),
                std::to_string(theirs) + " of " + second_->name());
  }

  std::unique_ptr<IntegerBackend> first_;
  std::unique_ptr<IntegerBackend> second_;
  std::string node_ = "input";
  TrainPass pass_ = TrainPass::forward;
};

class TwinProduct final : public ProductOp {
 public:
  TwinProduct(CheckBackend& backend, const ProductCase& product)
      : backend_(backend),
        first_(backend.first().product(product)),
        second_(backend.second().product(product)) {}

  void forward(const Values& input, const Weights& weight, const Weights* bias, ShiftPoint point,
               const Values& output) override {
    first_->forward(first_of(input), first_of(weight), bias ? &first_of(*bias) : nullptr, point,
                    first_of(output));
    second_->forward(second_of(input), second_of(weight), bias ? &second_of(*bias) : nullptr, point,
                     second_of(output));
    backend_.compare("value", output);
  }
  void forward_sums(const Values& input, const Weights& weight, const FrozenLine* line,
                    const Values& output) override {
    const FrozenLine first = line != nullptr ? first_of(*line) : FrozenLine{};
    const FrozenLine second = line != nullptr ? second_of(*line) : FrozenLine{};
    first_->forward_sums(first_of(input), first_of(weight), line != nullptr ? &first : nullptr,
                         first_of(output));
    second_->forward_sums(second_of(input), second_of(weight), line != nullptr ? &second : nullptr,
                          second_of(output));
    if (line != nullptr) return backend_.compare("value", output);
    backend_.compare_sums("sums", output);
  }
  void input_error(const Values& error, const Weights& weight, ShiftPoint point,
                   const Values& input_error) override {
    first_->input_error(first_of(error), first_of(weight), point, first_of(input_error));
    second_->input_error(second_of(error), second_of(weight), point, second_of(input_error));
    backend_.compare("error of the input", input_error);
  }
  void weight_gradient(const Values& input, const Values& error, Sums& sums) override {
    first_->weight_gradient(first_of(input), first_of(error), first_of(sums));
    second_->weight_gradient(second_of(input), second_of(error), second_of(sums));
    backend_.compare("gradient of the weight", sums);
  }

 private:
  CheckBackend& backend_;
  std::unique_ptr<ProductOp> first_;
  std::unique_ptr<ProductOp> second_;
};

class TwinPool final : public PoolOp {
 public:
  TwinPool(CheckBackend& backend, const PoolCase& pool)
      : backend_(backend),
        first_(backend.first().pool(pool)),
        second_(backend.second().pool(pool)) {}

  void forward(const Values& input, ShiftPoint point, const Values& marks,
               const Values& output) override {
    first_->forward(first_of(input), point, first_of(marks), first_of(output));
    second_->forward(second_of(input), point, second_of(marks), second_of(output));
    backend_.compare("value", output);
  }
  void input_error(const Values& error, const Values& marks, ShiftPoint point,
                   const Values& input_error) override {
    first_->input_error(first_of(error), first_of(marks), point, first_of(input_error));
    second_->input_error(second_of(error), second_of(marks), point, second_of(input_error));
    backend_.compare("error of the input", input_error);
  }

 private:
  CheckBackend& backend_;
  std::unique_ptr<PoolOp> first_;
  std::unique_ptr<PoolOp> second_;
};

class TwinNormalization final : public NormalizationOp {
 public:
  TwinNormalization(CheckBackend& backend, const NormalizationCase& norm)
      : backend_(backend),
        first_(backend.first().normalization(norm)),
        second_(backend.second().normalization(norm)) {}

  void forward(const Values& input, const Weights* product, const Weights& scale,
               const Weights& shift, ShiftPoint point, const Values& output) override {
    first_->forward(first_of(input), product ? &first_of(*product) : nullptr, first_of(scale),
                    first_of(shift), point, first_of(output));
    second_->forward(second_of(input), product ? &second_of(*product) : nullptr, second_of(scale),
                     second_of(shift), point, second_of(output));
    backend_.compare("statistics", first_->record(), second_->record());
    backend_.compare(first_->running(), second_->running());
    backend_.compare("value", output);
  }
  void backward(const Values& input, const Values& error, ShiftPoint point,
                const Values& input_error, Sums& scale, Sums& shift) override {
    first_->backward(first_of(input), first_of(error), point, first_of(input_error),
                     first_of(scale), first_of(shift));
    second_->backward(second_of(input), second_of(error), point, second_of(input_error),
                      second_of(scale), second_of(shift));
    backend_.compare("gradient of the scale", scale);
    backend_.compare("gradient of the shift", shift);
    if (!input_error.memory.is_empty()) backend_.compare("error of the input", input_error);
  }
  NormalizationRecord record() override { return first_->record(); }
  RunningStatistics running() override { return first_->running(); }
  void set_running(const RunningStatistics& running) override {
    first_->set_running(running);
    second_->set_running(running);
  }
  void forward_frozen(const Values& input, const FrozenLine& line, const Values& output) override {
    first_->forward_frozen(first_of(input), first_of(line), first_of(output));
    second_->forward_frozen(second_of(input), second_of(line), second_of(output));
    backend_.compare("value", output);
  }

 private:
  CheckBackend& backend_;
  std::unique_ptr<NormalizationOp> first_;
  std::unique_ptr<NormalizationOp> second_;
};

std::unique_ptr<NormalizationOp> CheckBackend::normalization(const NormalizationCase& norm) {
  return std::make_unique<TwinNormalization>(*this, norm);
}

std::unique_ptr<ProductOp> CheckBackend::product(const ProductCase& product) {
  return std::make_unique<TwinProduct>(*this, product);
}

std::unique_ptr<PoolOp> CheckBackend::pool(const PoolCase& pool) {
  return std::make_unique<TwinPool>(*this, pool);
}

}  // namespace

std::unique_ptr<IntegerBackend> make_check_backend(std::unique_ptr<IntegerBackend> first,
                                                   std::unique_ptr<IntegerBackend> second) {
  return std::make_unique<CheckBackend>(std::move(first), std::move(second));
}

}  // namespace nibble::inline backend
