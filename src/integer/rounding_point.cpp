// SPDX-License-Identifier: Apache-2.0
// The shift of a batch: guessed, checked, corrected.
#include "integer/rounding_point.h"

#include <algorithm>
#include <array>

#include "nibble/fixed/bit_width.h"

namespace nibble {

void SumsOutcome::join(const SumsOutcome& other) {
  largest = std::max(largest, other.largest);
  saturated += other.saturated;
  elements += other.elements;
}

int shift_for(std::uint64_t largest) {
  return std::max(bits_of(largest) - 7, 0);
}

int RoundingPoint::round(const PassRule& rule,
                         const std::function<SumsOutcome(const RoundingJob&)>& body) {
  RoundingJob job{std::max(shift_, 0), rounding_, rule.random};
  job.random.stream = stream_;
  const auto run = [&] {
    const SumsOutcome outcome = body(job);
    std::array<std::int64_t, 1> largest{static_cast<std::int64_t>(outcome.largest)};
    if (rule.cluster != nullptr) rule.cluster->max(largest);
    saturated_ = outcome.saturated;
    elements_ = outcome.elements;
    return shift_for(static_cast<std::uint64_t>(largest[0]));
  };
  ++batches_;
  const int wanted = run();
  if (rule.rule == ShiftRule::frozen) return job.shift;
  const bool is_free = rule.rule == ShiftRule::delayed && shift_ != kUnknown;
  shift_ = wanted;
  if (is_free || wanted == job.shift) return job.shift;
  ++misses_;
  job.shift = wanted;
  run();
  return job.shift;
}

}  // namespace nibble
