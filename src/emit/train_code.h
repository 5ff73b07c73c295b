// SPDX-License-Identifier: Apache-2.0
// The C of a training step: static data of every layer, extents and where its weights begin, and
// the passes forward and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "emit/train_plan.h"

namespace nibble::inline emit {

// The texts of src/emit/c that the step calls, by name, in the order of their needs.
std::vector<std::string_view> training_kernels(const Network& network, const TrainPlan& plan);

// train_forward, train_answer_error and train_backward, with the static data that they need. Names
// begin with net_ and NET_, whatever the prefix.
std::string training_passes(const Network& network, const TrainPlan& plan);

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

}  // namespace nibble::inline emit
