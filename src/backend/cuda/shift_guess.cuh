// SPDX-License-Identifier: Apache-2.0
// Which shifts sums are rounded by before their largest is known, and the law of the one that
// counts.
#pragma once

#include "backend/cuda/device_params.h"
#include "laws/integer_laws.h"

namespace nibble::cuda {

// The shift that counts or, where the largest sum of this batch will tell, the one that was right
// most often lately.
__device__ __forceinline__ int first_guess(const DevicePoint& point, ShiftRule rule) {
  const bool is_known = rule == ShiftRule::exact && point.state.batches > 0;
  return is_known ? point.favourite : max(point.state.shift, 0);
}
// The last other one, where shifts came and went lately: a second result costs time, too.
__device__ __forceinline__ int second_guess(const DevicePoint& point, int first) {
  constexpr std::int64_t kLately = 16;  // batches
  if (point.state.batches - point.changed >= kLately) return PointState::kUnknown;
  return point.state.shift != first ? point.state.shift : point.state.other;
}
__device__ inline void vote(DevicePoint& point, int shift) {
  constexpr std::int32_t kMostVotes = 4;
  if (point.state.batches == 0) {
    point.favourite = shift;
    point.votes = 0;
  } else if (shift == point.favourite) {
    point.votes = min(point.votes + 1, kMostVotes);
  } else if (--point.votes < 0) {
    point.favourite = shift;
    point.votes = 0;
  }
}

// The law of the shift: from the largest sum of this batch or, where the rule says so, as it was.
__device__ inline void decide(DevicePoint& point, ShiftRule rule, std::int64_t elements,
                              bool has_second, std::int32_t* exponent) {
  PointState& state = point.state;
  const int guess = first_guess(point, rule);
  const int wanted = max(bits_of(point.largest) - 7, 0);
  const bool is_given = rule == ShiftRule::frozen ||
                        (rule == ShiftRule::delayed && state.shift != PointState::kUnknown);
  point.shift = is_given ? guess : wanted;
  const int second = has_second ? second_guess(point, guess) : PointState::kUnknown;
  point.guess = point.shift == guess    ? Guess::right
                : point.shift == second ? Guess::second_right
                                        : Guess::wrong;
  if (rule != ShiftRule::frozen) {
    vote(point, wanted);
    if (wanted != state.shift) {
      state.other = state.shift;
      point.changed = state.batches;
    }
    state.shift = wanted;
  }
  ++state.batches;
  state.elements = elements;
  state.misses += point.guess == Guess::wrong ? 1 : 0;
  const std::uint64_t saturated = point.guess == Guess::right          ? point.saturated
                                  : point.guess == Guess::second_right ? point.second_saturated
                                                                       : 0;
  state.saturated = static_cast<std::int64_t>(saturated);
  point.largest = 0;
  point.saturated = 0;
  point.second_saturated = 0;
  point.blocks_done = 0;
  *exponent = point.sum_exponent + point.shift;
}

}  // namespace nibble::cuda
