// SPDX-License-Identifier: Apache-2.0
// Integer training by its definitions: plain loops over (image, row, column, channel), 64-bit sums,
// two passes wherever a shift is found. Slow, and what every other backend is compared with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "laws/integer_laws.h"

namespace nibble::inline backend {

inline std::int64_t largest_of(std::span<const std::int64_t> sums) {
  std::int64_t largest = 0;
  for (const std::int64_t each : sums) largest = std::max(largest, each < 0 ? -each : each);
  return largest;
}

inline int bits_in(std::int64_t magnitude) {
  return bits_of(static_cast<std::uint64_t>(magnitude));
}

// Image after image; sums of 16 bits instead of bytes where a batch norm reads them.
class ReferenceMemory final : public Memory {
 public:
  ReferenceMemory(std::size_t size, bool has_sums) : data(has_sums ? 0 : size), sums(size) {
    if (!has_sums) sums.clear();
  }
  std::vector<std::int8_t> data;
  std::vector<std::int16_t> sums;
};

class ReferenceWeights final : public Weights {
 public:
  explicit ReferenceWeights(const WeightsCase& weights);
  void write(const WeightsState& state) override;
  WeightsState read() const override;
  void read_mantissas(std::span<std::int8_t> mantissas) const override;
  int exponent() const override { return state.exponent; }
  UpdateRecord last_update() const override { return record; }

  WeightsCase of;
  WeightsState state;
  UpdateRecord record;
};

class ReferenceSums final : public Sums {
 public:
  explicit ReferenceSums(std::size_t size) : data(size) {}
  int read(std::span<std::int64_t> sums) override;
  void write(std::span<const std::int64_t> sums, int exponent) override;

  std::vector<std::int64_t> data;
  int exponent = 0;
};

class ReferenceBackend : public IntegerBackend {
 public:
  std::string name() const override { return "reference"; }

  MemoryHandle take(const Picture& picture, std::int64_t images, ValueStorage storage) override;
  Slot new_slot() override;
  ShiftPoint new_point(const ShiftPointCase& point) override;
  std::unique_ptr<Weights> weights(const WeightsCase& weights) override;
  std::unique_ptr<Sums> sums(const WeightsCase& weights) override;
  std::size_t peak_bytes() const override { return 0; }  // nobody asks a definition

  void load(std::span<const std::int8_t> mantissas, int exponent, const Values& to) override;
  void load_bytes(std::span<const std::uint8_t> bytes, std::span<const std::int8_t> tables,
                  int exponent, const Values& to) override;
  void store(const Values& from, std::span<std::int8_t> mantissas) override;
  void store_sums(const Values& from, std::span<std::int16_t> sums) override;
  SlotTable read_slots() override { return table_; }
  void set_point(ShiftPoint point, const PointState& state) override;

  void begin(const StepContext& step) override { step_ = step; }

  std::unique_ptr<ProductOp> product(const ProductCase& product) override;
  std::unique_ptr<PoolOp> pool(const PoolCase& pool) override;
  std::unique_ptr<NormalizationOp> normalization(const NormalizationCase& norm) override;
  void pointwise(const PointCase& point, std::span<const Values> from, const Values& to) override;
  void bias_gradient(const Values& error, Sums& sums) override;
  void loss(const LossCase& loss, const Values& answers, const Values& error) override;
  void reduce(Sums& sums) override;
  void update(Weights& weights, Sums& sums) override;

  // For the operations of this folder.
  const StepContext& step() const { return step_; }
  static std::vector<std::int8_t>& data(const Values& values) {
    return static_cast<ReferenceMemory*>(values.memory.get())->data;
  }
  static std::vector<std::int16_t>& sums_of(const Values& values) {
    return static_cast<ReferenceMemory*>(values.memory.get())->sums;
  }
  int exponent(const Values& values) const { return table_.exponent(values); }
  void set_exponent(const Values& values, int exponent);
  // The shift follows from the largest of all sums; then each is rounded.
  void round(ShiftPoint point, std::span<const std::int64_t> sums, int exponent, const Values& to);
  void freeze(std::span<const std::int64_t> sums, const FrozenLine& line, const Values& to);
  // By shifts that are known, one a channel.
  void round_channels(ShiftPoint point, std::span<const std::int64_t> sums,
                      std::span<const int> shifts, const Values& to);

 private:
  std::vector<ShiftPointCase> cases_;
  SlotTable table_;
  StepContext step_;
};

}  // namespace nibble::inline backend
