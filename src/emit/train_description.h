// SPDX-License-Identifier: Apache-2.0
// The static data of emitted layers: extents, and where in the state's weights theirs begin.
#pragma once

#include <cstdint>
#include <string>

#include "emit/train_plan.h"

namespace nibble {

// Where the weights of a parameter begin when all follow each other, and their exponent.
struct WeightPlace {
  bool is_there = false;
  std::int64_t offset = -1;
  int exponent = 0;
};

// Of the node's parameter of that kind.
WeightPlace place_of(const Network& network, std::size_t node, std::string_view kind);

// "static const train_product layer_1 = { … };", or nothing for layers that need none.
std::string layer_description(const Network& network, const TrainPlan& plan, std::size_t node);

}  // namespace nibble
