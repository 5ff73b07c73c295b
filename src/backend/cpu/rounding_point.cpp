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

void RoundingPoint::learn(std::uint64_t largest) {
  const int wanted = shift_for(largest);
  if (wanted != state_.shift) state_.other = state_.shift;
  state_.shift = wanted;
}

// A point that rounds a second time in a step, where three errors meet, takes what the first time
// wanted: that cannot wait for the end.
void RoundingPoint::settle(const PassRule& rule) {
  if (rule.late == nullptr) return;
  const auto earlier = std::ranges::find(*rule.late, this, &LateMaximum::point);
  if (earlier == rule.late->end()) return;
  std::array largest{earlier->largest};
  rule.late->erase(earlier);
  rule.cluster->max(largest);
  learn(static_cast<std::uint64_t>(largest[0]));
}

int RoundingPoint::round(const PassRule& rule, const BlockTensor& result,
                         const std::function<SumsOutcome(const RoundingJob&)>& body,
                         const std::function<void()>& meanwhile) {
  constexpr int kUnknown = PointState::kUnknown;
  settle(rule);
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
  const bool is_free = rule.rule == ShiftRule::delayed && state_.shift != kUnknown;
  const bool is_late = is_free && rule.late != nullptr;
  // Frozen shifts ask for no maximum.
  const bool meets = rule.cluster != nullptr && rule.rule != ShiftRule::frozen && !is_late;
  SumsOutcome outcome;
  const auto run = [&] {
    outcome = body(job);
    state_.saturated = outcome.saturated;
    state_.elements = outcome.elements;
  };
  ++state_.batches;
  if (!meets) meanwhile();
  run();
  std::array largest{static_cast<std::int64_t>(outcome.largest)};
  if (meets) {
    rule.cluster->start_max(largest);
    meanwhile();
    rule.cluster->finish_max();
  }
  if (rule.rule == ShiftRule::frozen) return job.shift;
  if (is_late) {
    rule.late->push_back({this, largest[0]});
    return job.shift;
  }
  learn(static_cast<std::uint64_t>(largest[0]));
  const int wanted = state_.shift;
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
