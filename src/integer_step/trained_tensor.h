// SPDX-License-Identifier: Apache-2.0
// A weight in training: on every backend that needs it, moved on one of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "integer_step/placement.h"

namespace nibble::inline integer_step {

class TrainedTensor {
 public:
  TrainedTensor(WeightsCase weights, const LayerPlace& place);

  const std::string& name() const { return case_.name; }
  const Shape& shape() const { return case_.shape; }
  bool is_bias() const { return case_.is_bias; }
  NormPart norm() const { return case_.norm; }
  std::size_t size() const { return static_cast<std::size_t>(case_.shape.elements()); }
  int exponent() const { return master().exponent(); }

  // With the host, outside of steps. Mantissas and their exponent leave the rest as it was.
  void write(const WeightsState& state);
  void write_mantissas(std::span<const std::int8_t> mantissas, int exponent);
  WeightsState read() const { return master().read(); }
  std::vector<std::int8_t> mantissas() const;
  UpdateRecord last_update() const { return master().last_update(); }

  // Sums of mantissas where they move: nothing is read by the host until it asks for them.
  std::unique_ptr<WeightTotals> totals() const { return place_.update->totals(case_); }
  void add_to(WeightTotals& totals) const { totals.add(master()); }

  const Weights& on(const IntegerBackend& backend) const;

  // What crosses to a device that only computes with it, and where the update is elsewhere.
  std::int64_t wire_bytes() const;
  std::int64_t gradient_bytes(std::int64_t all_images) const;

  // The gradient: made where the place says, summed over ranks, then applied.
  Sums& gradient() { return *gradient_; }
  void reduce() { place_.weight_gradient->reduce(*gradient_); }
  void leave_for_update(std::int64_t all_images);  // of a batch of so many, where it is elsewhere
  void update();
  // What has moved to those who compute with it: first it leaves, then it is there.
  void send();
  void arrive();

 private:
  struct Copy {
    const IntegerBackend* backend;
    std::unique_ptr<Weights> weights;
  };

  void add_copy(IntegerBackend& backend);
  Weights& master() const { return *copies_.front().weights; }  // that of the update

  WeightsCase case_;
  LayerPlace place_;
  std::vector<Copy> copies_;
  std::unique_ptr<Sums> gradient_;
  std::unique_ptr<Sums> moved_gradient_;  // where the update is elsewhere
  std::optional<Flight> gradient_flight_;
  std::vector<Flight> flights_;  // to the copies behind the first
};

// How weights begin.

inline constexpr int kBiasExponent = -10;  // of biases, for life: they reach ±0.124

// Uniform in -127 … 127, or zeros of a bias, with the memory that an update rule needs.
WeightsState initial_state(const TrainedTensor& tensor, int exponent, const UpdateRule& rule,
                           const RandomKey& key);

// ⌈log2 √(6 / (fan_in + fan_out))⌉ - 7: Xavier's bound is what the mantissa 127 stands for.
int xavier_exponent(std::int64_t fan_in, std::int64_t fan_out);

}  // namespace nibble::inline integer_step
