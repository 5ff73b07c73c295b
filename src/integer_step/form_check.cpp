// SPDX-License-Identifier: Apache-2.0
// Whether a network has an integer form: its layers are made on a backend that holds and computes
// nothing, so that only their refusals are left.
#include "integer_step/session.h"

namespace nibble::inline integer_step {
namespace {

class NoWeights final : public Weights {
 public:
  void write(const WeightsState&) override {}
  WeightsState read() const override { return {}; }
  void read_mantissas(std::span<std::int8_t>) const override {}
  int exponent() const override { return 0; }
  UpdateRecord last_update() const override { return {}; }
};

class NoBackend final : public IntegerBackend {
 public:
  std::string name() const override { return "none"; }
  MemoryHandle take(const Picture&, std::int64_t, ValueStorage) override { return {}; }
  Slot new_slot() override { return {}; }
  ShiftPoint new_point(const ShiftPointCase&) override { return {}; }
  std::unique_ptr<Weights> weights(const WeightsCase&) override {
    return std::make_unique<NoWeights>();
  }
  std::unique_ptr<Sums> sums(const WeightsCase&) override { return nullptr; }
  std::size_t peak_bytes() const override { return 0; }
  void load(std::span<const std::int8_t>, int, const Values&) override {}
  void load_bytes(std::span<const std::uint8_t>, std::span<const std::int8_t>, int,
                  const Values&) override {}
  void store(const Values&, std::span<std::int8_t>) override {}
  void store_sums(const Values&, std::span<std::int16_t>) override {}
  SlotTable read_slots() override { return {}; }
  void set_point(ShiftPoint, const PointState&) override {}
  void begin(const StepContext&) override {}
  std::unique_ptr<ProductOp> product(const ProductCase&) override { return nullptr; }
  std::unique_ptr<PoolOp> pool(const PoolCase&) override { return nullptr; }
  std::unique_ptr<NormalizationOp> normalization(const NormalizationCase&) override {
    return nullptr;
  }
  void pointwise(const PointCase&, std::span<const Values>, const Values&) override {}
  void bias_gradient(const Values&, Sums&) override {}
  void loss(const LossCase&, const Values&, const Values&) override {}
  void reduce(Sums&) override {}
  void update(Weights&, Sums&) override {}
};

}  // namespace

void check_integer_form(const Network& network) {
  check_integer_answer(network);
  const IntegerTape tape(network, {}, Placement(std::make_shared<NoBackend>()));
}

}  // namespace nibble::inline integer_step
