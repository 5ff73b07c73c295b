// SPDX-License-Identifier: Apache-2.0
// Products, pools and what looks at a whole example by their definitions, number by number: for
// what is rare, for inputs that are no bytes, and for sums that 32 bits do not hold.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/place.h"
#include "engine/step.h"
#include "nibble/graph/network.h"

namespace nibble {

struct PlainSpec {
  Node node;
  std::vector<Place> inputs = {};
  Place out = {};
  std::vector<std::int64_t> weights = {};  // weight, multiplier or table
  std::vector<std::int64_t> bias = {};     // of a product
  std::int64_t macs = 0;
  // Of a product or sum pool: the rescale that follows at once, and a relu.
  std::vector<std::int64_t> multiplier = {};
  Rescale rescale = {};
  bool has_rescale = false;
};

// Throws where the operation is none of these: conv2d, linear, max_pool, sum_pool, flatten,
// softmax_table, arg_max.
std::unique_ptr<EngineStep> make_plain_step(PlainSpec spec);

}  // namespace nibble
