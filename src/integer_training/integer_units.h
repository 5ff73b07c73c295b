// SPDX-License-Identifier: Apache-2.0
// The units that the integers of a quantized network count in.
#pragma once

#include <vector>

#include "nibble/graph/network.h"

namespace nibble::inline integer_training {

// Real value = integer·unit: one for all, or one a channel.
using Units = std::vector<double>;

inline double unit_at(const Units& units, std::size_t channel) {
  return units[units.size() == 1 ? 0 : channel];
}

// By node. The scales in formats say them, and rescales between: the law is in
// docs/integer-training.md. Throws, naming the node, where a unit does not follow.
std::vector<Units> units_of_integers(const Model& model);

}  // namespace nibble::inline integer_training
