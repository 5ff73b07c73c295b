// SPDX-License-Identifier: Apache-2.0
// Integer training on the CPU: every instruction set, any number of threads, groups of 16 images.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/block_tensor.h"
#include "backend/cpu/cpu_weights.h"
#include "backend/cpu/rounding_point.h"
#include "core/buffer_pool.h"

namespace nibble::inline backend {

class CpuBackend final : public IntegerBackend {
 public:
  std::string name() const override { return "cpu"; }

  MemoryHandle take(const Picture& picture, std::int64_t images, ValueStorage storage) override;
  Slot new_slot() override;
  ShiftPoint new_point(const ShiftPointCase& point) override;
  std::unique_ptr<Weights> weights(const WeightsCase& weights) override;
  std::unique_ptr<Sums> sums(const WeightsCase& weights) override;
  std::size_t peak_bytes() const override { return pool_.peak_bytes(); }

  void load(std::span<const std::int8_t> mantissas, int exponent, const Values& to) override;
  void load_bytes(std::span<const std::uint8_t> bytes, std::span<const std::int8_t> tables,
                  int exponent, const Values& to) override;
  void store(const Values& from, std::span<std::int8_t> mantissas) override;
  void store_sums(const Values& from, std::span<std::int16_t> sums) override;
  SlotTable read_slots() override;
  int read_exponent(const Values& of) override;
  void set_point(ShiftPoint point, const PointState& state) override;

  void begin(const StepContext& step) override { step_ = step; }
  void end() override;

  std::unique_ptr<ProductOp> product(const ProductCase& product) override;
  std::unique_ptr<PoolOp> pool(const PoolCase& pool) override;
  std::unique_ptr<NormalizationOp> normalization(const NormalizationCase& norm) override;
  void pointwise(const PointCase& point, std::span<const Values> from, const Values& to) override;
  void bias_gradient(const Values& error, Sums& sums) override;
  void loss(const LossCase& loss, const Values& answers, const Values& error) override;
  void reduce(Sums& sums) override;
  void update(Weights& weights, Sums& sums) override;

  // For the operations of this folder: values as the memory has them, the exponent included.
  const StepContext& step() const { return step_; }
  BufferPool& buffers() { return pool_; }
  BlockTensor block(const Values& values) const;
  int exponent(const Values& values) const { return exponents_[place(values.exponent.place)]; }
  void set_exponent(const Values& values, int exponent) {
    if (values.exponent.place >= 0) exponents_[place(values.exponent.place)] = exponent;
  }

  const ShiftPointCase& case_of(ShiftPoint point) const { return points_[place(point.place)].of(); }
  // Of a point whose shifts need not be found.
  void count_rounding(ShiftPoint point, std::int64_t saturated, std::int64_t elements);

  // Rounds sums of `sum_exponent` into the result, and sets its exponent.
  void round(
      ShiftPoint point, int sum_exponent, const Values& result,
      const std::function<SumsOutcome(const RoundingJob&, const BlockTensor&)>& body,
      const std::function<void()>& meanwhile = [] {});

 private:
  bool settles_late() const { return step_.cluster != nullptr && step_.settles_at_end; }
  static std::size_t place(std::int32_t place) { return static_cast<std::size_t>(place); }

  BufferPool pool_;  // before all that borrows from it
  std::vector<int> exponents_;
  std::deque<RoundingPoint> points_;
  StepContext step_;
  // What ranks find out together when the step ends.
  std::vector<LateMaximum> late_maxima_;
  std::vector<std::pair<CpuWeights*, CpuSums*>> late_updates_;
};

// How sums leave a product that a batch norm reads: as values of 16 bits by the weight's shifts,
// which live as long as this, or frozen.
class NormedSums {
 public:
  NormedSums(const Weights& weight, std::int64_t outputs, const FrozenLine* line);

  const RoundingJob& job() const { return job_; }
  int exponent(int sum_exponent) const { return line_ != nullptr ? line_->exponent : sum_exponent; }

 private:
  const FrozenLine* line_;
  std::vector<std::int32_t> shifts_;
  RoundingJob job_;
};

std::unique_ptr<ProductOp> make_cpu_product(CpuBackend& backend, const ProductCase& product);
std::unique_ptr<ProductOp> make_cpu_grouped_product(CpuBackend& backend,
                                                    const ProductCase& product);
std::unique_ptr<PoolOp> make_cpu_pool(CpuBackend& backend, const PoolCase& pool);

}  // namespace nibble::inline backend
