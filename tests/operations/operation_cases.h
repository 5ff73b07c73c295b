// SPDX-License-Identifier: Apache-2.0
// A small network of each operation, as floats, as integers, and as one that is trained.
#pragma once

#include <vector>

#include "nibble/graph/network.h"

namespace nibble {

// One operation, called "it", with what it cannot do without.
struct OperationCase {
  Op op;
  Shape input;
  std::vector<Node> nodes;  // their inputs count from what enters, which is 0
};

// Every operation once, in the order of Op.
std::vector<OperationCase> operation_cases();

// Input and nodes; values are of reals.
Network plain_network(const OperationCase& each);

// With a product before the operation; what enters is a picture.
Network network_behind_product(const OperationCase& each);

// The same, so that errors have to come back through it, with a linear layer of kClasses and a loss
// behind it, unless it is one itself.
inline constexpr std::int64_t kClasses = 5;
Network trained_network(const OperationCase& each);

// Numbers by chance: weights within ±0.5, variances and scales around 1; steps are kFloatStep.
inline constexpr float kFloatStep = 1.0F / 16;
Model with_floats(const Network& network);

// Bytes enter. Of what needs exponents, relu6, it is an integer-trained network.
Model integer_model(const OperationCase& each);

// What the integers of a value stand for: the scale of its format, 1 where it has none.
double unit_of(const Node& node);

}  // namespace nibble
