// SPDX-License-Identifier: Apache-2.0
// Batches of a data set for the integer network: bytes with their tables, or mantissas.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "integer_step/session.h"
#include "nibble/data/augment.h"
#include "nibble/data/dataset.h"
#include "nibble/graph/network.h"

namespace nibble::inline integer_training {

// How numbers of a data set become mantissas: bytes by a table of 256 for every channel, floats by
// a multiplication. Here, before the step, is where floats end.
struct InputScale {
  int exponent = 0;
  std::vector<std::int8_t> tables;  // empty: the data is f32
};

// ⌈log2 of the largest normalized value⌉ - 7, so that it fits; floats are looked at in `data`.
InputScale input_scale(const Input& input, const Dataset& data);
InputScale input_scale(const Input& input, const Dataset& data, int exponent);

class IntegerBatcher {
 public:
  // The data must outlive the batcher.
  // `answers`: numbers an image.
  IntegerBatcher(const Dataset& data, InputScale scale, std::int64_t answers);

  // Leaves it to who computes to gather bytes that are in memory: a GPU keeps the data set.
  void leave_gathering() { gathers_ = false; }

  // `indices` is the whole batch, and must live as long as what is returned, which lives until the
  // next call.
  IntegerBatch load(std::span<const std::int32_t> indices, const AugmentOptions& augment,
                    const AugmentKey& key, const RankShare& share = {});

 private:
  const Dataset& data_;
  InputScale scale_;
  std::int64_t answers_;
  bool gathers_ = true;
  Tensor gathered_;
  std::vector<std::int8_t> mantissas_;  // of f32 data
  std::vector<std::int32_t> labels_;
  std::vector<std::int32_t> targets_;
};

}  // namespace nibble::inline integer_training
