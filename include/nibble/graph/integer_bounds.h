// SPDX-License-Identifier: Apache-2.0
// The certificate of an integer network: between which integers every value and every product lies,
// whatever the input.
#pragma once

#include <cstdint>
#include <vector>

#include "nibble/graph/network.h"

namespace nibble::inline graph {

struct Interval {
  std::int64_t low = 0;
  std::int64_t high = 0;
  bool operator==(const Interval&) const = default;

  bool is_within(std::int64_t least, std::int64_t most) const {
    return low >= least && high <= most;
  }
  Interval joined_with(const Interval& other) const;  // the least that holds both
  int signed_bits() const;                            // of two's complement that holds both ends
};

struct NodeBounds {
  Interval value;
  Interval partial;  // of a conv2d or linear: of the sum of any part of its products, with the bias
  Interval product;  // of a rescale: of x·multiplier
};

// Of every node, from the range of the input's format and the weights themselves, channel by
// channel. The network must be in integer_form. Throws, naming the node, where 62 bits do not hold
// what could happen.
std::vector<NodeBounds> prove_bounds(const Model& model);

}  // namespace nibble::inline graph
