// SPDX-License-Identifier: Apache-2.0
// A weight in training on the CPU: int8 mantissas, an exponent, how they change.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/weight_gradient.h"

namespace nibble::inline backend {

struct WeightData {
  Tensor mantissas;  // i8
  int exponent = 0;
  ShiftRounding rounding = ShiftRounding::pseudo_stochastic;  // of gradients
  std::uint32_t stream = 0;                                   // of their draws
  std::vector<std::int32_t> fine;      // mantissa · 2^fraction_bits, where there are such bits
  std::vector<std::int32_t> momentum;  // in the same unit, where there is momentum
  bool is_bias = false;
  NormPart norm = NormPart::none;
  UpdateRecord record = {};

  std::size_t size() const { return static_cast<std::size_t>(mantissas.elements()); }
};

// One step by either rule; `random` has seed and step. docs/integer-training.md has the laws.
void update(WeightData& tensor, const GradientSums& gradient, const ShiftUpdate& rule,
            const RandomKey& random);
void update(WeightData& tensor, const GradientSums& gradient, const SgdUpdate& rule,
            const RandomKey& random);

class CpuWeights final : public Weights {
 public:
  explicit CpuWeights(const WeightsCase& weights);

  void write(const WeightsState& state) override;
  WeightsState read() const override;
  void read_mantissas(std::span<std::int8_t> mantissas) const override;
  int exponent() const override { return tensor_.exponent; }
  UpdateRecord last_update() const override { return tensor_.record; }

  void update(const GradientSums& gradient, const UpdateRule& rule, const RandomKey& random);

  std::span<const std::int8_t> mantissas() const { return tensor_.mantissas.as<std::int8_t>(); }
  std::span<const std::int32_t> fine() const { return tensor_.fine; }
  std::vector<std::int64_t> lifted(int places) const;  // mantissas · 2^places
  // Grows with every change: what was packed of an older one is stale.
  std::uint64_t version() const { return version_; }

 private:
  WeightData tensor_;
  std::uint64_t version_ = 1;
};

inline const CpuWeights& cpu_weights(const Weights& weights) {
  return static_cast<const CpuWeights&>(weights);
}

class CpuSums final : public Sums {
 public:
  int read(std::span<std::int64_t> sums) override;
  void write(std::span<const std::int64_t> sums, int exponent) override;

  // Adds those of all ranks up: now, or until finish_sums().
  void reduce(Communicator& cluster, bool is_late);
  bool is_late() const { return is_late_; }
  void settle() { is_late_ = false; }

  GradientSums gradient;

 private:
  bool is_late_ = false;
};

}  // namespace nibble::inline backend
