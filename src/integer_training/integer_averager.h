// SPDX-License-Identifier: Apache-2.0
// The mean of int8 weights over the last part of a run: sums in int32, one division that rounds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "integer_step/trained_tensor.h"
#include "nibble/core/safetensors.h"
#include "nibble/run_folder/schedule.h"
#include "run_folder/checkpoint.h"

namespace nibble::inline integer_training {

class IntegerAverager {
 public:
  // After a step. The window is the steps of the last epochs, from `from` (1: the first) on; a
  // power of two of them, spread evenly, are summed, so that the division is a shift.
  void see(const RunPosition& position, std::int64_t from,
           std::span<TrainedTensor* const> parameters);

  std::int64_t count() const { return count_; }
  std::vector<std::int8_t> mean(std::size_t parameter) const;  // to the nearest, halves away from 0

  std::vector<NamedTensorView> state() const;  // "average.0", …
  void set_state(const Checkpoint& checkpoint, std::int64_t count,
                 std::span<TrainedTensor* const> parameters);

 private:
  std::vector<Tensor> sums_;  // i32
  std::int64_t count_ = 0;
};

}  // namespace nibble::inline integer_training
