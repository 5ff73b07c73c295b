// SPDX-License-Identifier: Apache-2.0
// Where sums become int8 again: the shift follows from the largest sum of the whole batch.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "nibble/cluster/communicator.h"
#include "nibble/core/philox.h"
#include "nibble/integer/settings.h"

namespace nibble {

// What one pass over the sums found.
struct SumsOutcome {
  std::uint64_t largest = 0;   // magnitude
  std::int64_t saturated = 0;  // results cut to ±127
  std::int64_t elements = 0;

  void join(const SumsOutcome& other);
};

// How one tensor's sums are rounded; random draws are those of (seed, stream, step, element).
struct RoundingJob {
  int shift = 0;
  ShiftRounding rounding = ShiftRounding::nearest;
  RandomKey random;
};

struct PassRule {
  ShiftRule rule = ShiftRule::exact;
  RandomKey random;  // seed and step
  Communicator* cluster = nullptr;
};

// One tensor of a network that is rounded once a batch. What it remembers of the last batch is part
// of a checkpoint: under the delayed rule it decides numbers.
class RoundingPoint {
 public:
  RoundingPoint() = default;
  RoundingPoint(std::string name, ShiftRounding rounding, std::uint32_t stream)
      : name_(std::move(name)), rounding_(rounding), stream_(stream) {}

  // Calls `body` with a shift, again with the right one where the guess was wrong, and returns the
  // shift that counts. The result is that of two passes, one for the maximum and one to round: the
  // guess only saves time. Every rank must come here.
  int round(const PassRule& rule, const std::function<SumsOutcome(const RoundingJob&)>& body);

  const std::string& name() const { return name_; }
  int shift() const { return shift_; }
  void set_shift(int shift) { shift_ = shift; }
  void restore(int shift, std::int64_t misses, std::int64_t batches) {
    shift_ = shift;
    misses_ = misses;
    batches_ = batches;
  }
  bool has_shift() const { return shift_ != kUnknown; }
  ShiftRounding rounding() const { return rounding_; }
  std::int64_t saturated() const { return saturated_; }  // of the last batch
  std::int64_t elements() const { return elements_; }    // of the last batch
  std::int64_t misses() const { return misses_; }        // guesses that were wrong, of all batches
  std::int64_t batches() const { return batches_; }

 private:
  std::string name_;
  ShiftRounding rounding_ = ShiftRounding::nearest;
  std::uint32_t stream_ = 0;
  int shift_ = kUnknown;
  std::int64_t saturated_ = 0;
  std::int64_t elements_ = 0;
  std::int64_t misses_ = 0;
  std::int64_t batches_ = 0;

  static constexpr int kUnknown = -1;
};

// max(b(m) - 7, 0): the largest sum then fits 7 bits and a sign.
int shift_for(std::uint64_t largest);

}  // namespace nibble
