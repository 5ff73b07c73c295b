// SPDX-License-Identifier: Apache-2.0
// What the emitted code calls one after another: nodes of the network, those fused that need not be
// stored in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "emit/network_view.h"
#include "graph/fusion.h"

namespace nibble::inline emit {

// R(x·multiplier[channel], shift) of a stored value.
struct StepTerm {
  std::size_t node = kNoNode;
  std::vector<std::int64_t> multipliers = {1};
  std::int64_t shift = 0;
  Interval range = {};  // of the result

  bool is_given() const { return node != kNoNode; }
};

// From a sum to what is stored:
// clamp(R((sum·factor + bias[c] + addend)·multiplier[c], shift), low, high).
struct StepFinish {
  std::int64_t factor = 1;
  std::vector<std::int64_t> bias = {};  // empty: 0
  StepTerm addend = {};
  std::vector<std::int64_t> multipliers = {1};
  std::int64_t shift = 0;
  std::int64_t low = -kMaxInteger;
  std::int64_t high = kMaxInteger;
  Interval sums = {};  // before all this, in any order of addition

  // Between which integers everything lies that is multiplied last, in any order of addition.
  Interval reach() const;
};

struct EmitStep {
  std::size_t first = 0;             // the node that says what is done
  std::size_t last = 0;              // the node whose value is stored
  std::vector<StepTerm> inputs;      // stored values; of an add with a rescale of their own
  StepFinish finish = {};            // of conv2d, linear, sum_pool, add, bias, relu and rescale
  Extent2 padding = {};              // of a conv2d: above and left, with that of a pad before it
  std::optional<MaxPool> pool = {};  // of a conv2d's outputs

  // All nodes whose stored values are read.
  std::vector<std::size_t> reads() const;
};

// An add of more than two: one after another, in 32 bits.
inline bool is_sum_of_many(const Node& node) {
  return is<Add>(node.op) && node.inputs.size() > 2;
}

// In the order of execution. A flatten is a step only where nothing else writes the answer.
std::vector<EmitStep> make_steps(const NetworkView& view);

}  // namespace nibble::inline emit
