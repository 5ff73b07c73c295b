// SPDX-License-Identifier: Apache-2.0
// The shift of a batch: guessed, checked, corrected.
#include "backend/cpu/rounding_point.h"

#include <algorithm>
#include <array>

#include "laws/integer_laws.h"

namespace nibble::inline backend {

int shift_for(std::uint64_t largest) {
  return std::max(bits_of(largest) - 7, 0);
}

int RoundingPoint::round(const PassRule& rule, const BlockTensor& result,
                         const std::function<SumsOutcome(const RoundingJob&)>& body) {
  constexpr int kUnknown = PointState::kUnknown;
  RoundingJob job{
      .shift = std::max(state_.shift, 0), .rounding = case_.rounding, .random = rule.random};
  job.random.stream = case_.stream;
  BlockTensor second = result;
  Buffer memory;
  if (rule.rule == ShiftRule::exact && rule.pool != nullptr && state_.other != kUnknown) {
    memory = rule.pool->take<std::int8_t>(result.bytes());
    second.data = memory.as<std::int8_t>();
    clear_filling(second);
    job.other_shift = state_.other;
    job.other = second.data;
  }
  SumsOutcome outcome;
  const auto run = [&] {
    outcome = body(job);
    std::array<std::int64_t, 1> largest{static_cast<std::int64_t>(outcome.largest)};
    // Frozen shifts ask for no maximum.
    if (rule.cluster != nullptr && rule.rule != ShiftRule::frozen) rule.cluster->max(largest);
    state_.saturated = outcome.saturated;
    state_.elements = outcome.elements;
    return shift_for(static_cast<std::uint64_t>(largest[0]));
  };
  ++state_.batches;
  const int wanted = run();
  if (rule.rule == ShiftRule::frozen) return job.shift;
  const bool is_free = rule.rule == ShiftRule::delayed && state_.shift != kUnknown;
  if (wanted != state_.shift) state_.other = state_.shift;
  state_.shift = wanted;
  if (is_free || wanted == job.shift) return job.shift;
  if (job.other != nullptr && wanted == job.other_shift) {
    copy_bytes(second, result);
    state_.saturated = outcome.other_saturated;
    return wanted;
  }
  ++state_.misses;
  job = {.shift = wanted, .rounding = case_.rounding, .random = job.random};
  run();
  return wanted;
}

}  // namespace nibble::inline backend
