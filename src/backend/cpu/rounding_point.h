// SPDX-License-Identifier: Apache-2.0
// Where sums become int8 again: the shift follows from the largest sum of the whole batch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "backend/cpu/block_tensor.h"
#include "backend/values.h"
#include "core/buffer_pool.h"
#include "nibble/backend/rules.h"
#include "nibble/cluster/communicator.h"
#include "nibble/core/philox.h"

namespace nibble::inline backend {

// What one pass over the sums found.
struct SumsOutcome {
  std::uint64_t largest = 0;   // magnitude
  std::int64_t saturated = 0;  // results cut to ±127
  std::int64_t other_saturated = 0;
  std::int64_t elements = 0;

  // For every tile.
  void join(const SumsOutcome& other) {
    largest = std::max(largest, other.largest);
    saturated += other.saturated;
    other_saturated += other.other_saturated;
    elements += other.elements;
  }
};

// How one tensor's sums are rounded; random draws are those of (seed, stream, step, element). Where
// `other` is set they are rounded by other_shift too, into that memory: a second guess. With column
// shifts sums become values of 16 bits for a batch norm, by norm_value, and nothing else counts;
// with multipliers and biases of columns those of a frozen one, by frozen_norm_value.
struct RoundingJob {
  int shift = 0;
  ShiftRounding rounding = ShiftRounding::nearest;
  RandomKey random = {};
  int other_shift = 0;
  std::int8_t* other = nullptr;
  std::span<const std::int32_t> column_shifts = {};
  std::span<const std::int32_t> biases = {};
  std::span<const std::int32_t> multipliers = {};
};

class RoundingPoint;

// A maximum that no rank needs before the batch has ended.
struct LateMaximum {
  RoundingPoint* point = nullptr;
  std::int64_t largest = 0;  // of this rank
};

struct PassRule {
  ShiftRule rule = ShiftRule::exact;
  RandomKey random;  // seed and step
  Communicator* cluster = nullptr;
  BufferPool* pool = nullptr;                // of second guesses; null: there are none
  std::vector<LateMaximum>* late = nullptr;  // where delayed shifts leave them; null: nowhere
};

// One tensor of a network that is rounded once a batch.
class RoundingPoint {
 public:
  explicit RoundingPoint(ShiftPointCase point) : case_(std::move(point)) {}

  // Calls `body`, which rounds sums into `result`, with guesses of the shift, again with the right
  // one where they were wrong, and returns the shift that counts. The result is that of two passes,
  // one for the maximum and one to round: guesses only save time. Every rank must come here.
  // `meanwhile` is called once, where ranks would otherwise wait for each other.
  int round(
      const PassRule& rule, const BlockTensor& result,
      const std::function<SumsOutcome(const RoundingJob&)>& body,
      const std::function<void()>& meanwhile = [] {});

  // The largest sum of all ranks, which decides the shift of the next batch.
  void learn(std::uint64_t largest);

  const ShiftPointCase& of() const { return case_; }
  const PointState& state() const { return state_; }
  void restore(const PointState& state) { state_ = state; }

 private:
  void settle(const PassRule& rule);

  ShiftPointCase case_;
  PointState state_;
};

// max(b(m) - 7, 0): the largest sum then fits 7 bits and a sign.
int shift_for(std::uint64_t largest);

}  // namespace nibble::inline backend
