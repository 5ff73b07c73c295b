// SPDX-License-Identifier: Apache-2.0
// Where sums become int8 again: the shift follows from the largest sum of the whole batch.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/buffer_pool.h"
#include "integer/block_tensor.h"
#include "nibble/cluster/communicator.h"
#include "nibble/core/philox.h"
#include "nibble/integer/settings.h"

namespace nibble {

// What one pass over the sums found.
struct SumsOutcome {
  std::uint64_t largest = 0;   // magnitude
  std::int64_t saturated = 0;  // results cut to ±127
  std::int64_t other_saturated = 0;
  std::int64_t elements = 0;

  void join(const SumsOutcome& other);
};

// How one tensor's sums are rounded; random draws are those of (seed, stream, step, element). Where
// `other` is set they are rounded by other_shift too, into that memory: a second guess.
struct RoundingJob {
  int shift = 0;
  ShiftRounding rounding = ShiftRounding::nearest;
  RandomKey random;
  int other_shift = 0;
  std::int8_t* other = nullptr;
};

struct PassRule {
  ShiftRule rule = ShiftRule::exact;
  RandomKey random;  // seed and step
  Communicator* cluster = nullptr;
  BufferPool* pool = nullptr;  // of second guesses; null: there are none
};

// One tensor of a network that is rounded once a batch. What it remembers of the last batch is part
// of a checkpoint: under the delayed rule it decides numbers.
class RoundingPoint {
 public:
  RoundingPoint() = default;
  RoundingPoint(std::string name, ShiftRounding rounding, std::uint32_t stream)
      : name_(std::move(name)), rounding_(rounding), stream_(stream) {}

  // Calls `body`, which rounds sums into `result`, with guesses of the shift, again with the right
  // one where they were wrong, and returns the shift that counts. The result is that of two passes,
  // one for the maximum and one to round: guesses only save time. Every rank must come here.
  int round(const PassRule& rule, const BlockTensor& result,
            const std::function<SumsOutcome(const RoundingJob&)>& body);

  const std::string& name() const { return name_; }
  int shift() const { return shift_; }
  void set_shift(int shift) { shift_ = shift; }
  int other_shift() const { return other_; }  // the second guess; -1: none
  void restore(int shift, int other, std::int64_t misses, std::int64_t batches) {
    shift_ = shift;
    other_ = other;
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
  int other_ = kUnknown;  // the last one before it that was another
  std::int64_t saturated_ = 0;
  std::int64_t elements_ = 0;
  std::int64_t misses_ = 0;
  std::int64_t batches_ = 0;

  static constexpr int kUnknown = -1;
};

// max(b(m) - 7, 0): the largest sum then fits 7 bits and a sign.
int shift_for(std::uint64_t largest);

}  // namespace nibble
