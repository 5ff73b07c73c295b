// SPDX-License-Identifier: Apache-2.0
// The mean of weights over the last part of a run: exact sums, one division that rounds.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "integer_step/trained_tensor.h"
#include "nibble/core/safetensors.h"
#include "nibble/run_folder/schedule.h"
#include "run_folder/checkpoint.h"

namespace nibble::inline integer_training {

class IntegerAverager {
 public:
  // Under the rule shift mantissas are summed; under sgd, where exponents move, fine numbers in a
  // unit that all samples of a tensor share.
  explicit IntegerAverager(const UpdateRule& rule = {}) : rule_(rule) {}

  // After a step. The window is the steps of the last epochs, from `from` (1: the first) on; a
  // power of two of them, spread evenly, are summed, so that the division is a shift.
  void see(const RunPosition& position, std::int64_t from,
           std::span<TrainedTensor* const> parameters);

  std::int64_t count() const { return count_; }
  // Mantissas to the nearest, halves away from 0, and their exponent.
  WeightsState mean(std::size_t parameter) const;

  // Sums as they are, on the host; from them it goes on, with weights that may be elsewhere.
  struct Saved {
    std::int64_t count = 0;
    std::vector<Tensor> sums;
    std::vector<int> exponents;
  };
  Saved save() const;
  void restore(const Saved& saved, std::span<TrainedTensor* const> parameters);

  // "average.count", and "average.0", … of sums.
  void put_state(Words& words, std::vector<NamedTensorView>& tensors) const;
  void take_state(const Checkpoint& checkpoint, std::span<TrainedTensor* const> parameters);

 private:
  struct Total {
    Tensor sums;                              // i32 of mantissas, as last read; i64 of fine numbers
    std::unique_ptr<WeightTotals> mantissas;  // where they are summed; null of fine numbers
    int exponent = 0;                         // of their unit
    bool is_bias = false;
    NormPart norm = NormPart::none;
  };

  bool sums_mantissas() const { return std::holds_alternative<ShiftUpdate>(rule_); }
  int fraction_bits_of(NormPart norm) const;
  Total empty_total(const TrainedTensor& tensor) const;
  void add(Total& total, const TrainedTensor& tensor) const;
  const Tensor& sums_of(std::size_t parameter) const;

  UpdateRule rule_;
  mutable std::vector<Total> totals_;
  std::int64_t count_ = 0;
};

}  // namespace nibble::inline integer_training
