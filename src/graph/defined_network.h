// SPDX-License-Identifier: Apache-2.0
// Integer networks by their definitions: straight loops over 64-bit integers, node by node. It is
// what every device and the emitted C are compared with, and shares nothing with them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "nibble/graph/network.h"

namespace nibble::inline graph {

using Integers = std::vector<std::int64_t>;

class DefinedNetwork {
 public:
  explicit DefinedNetwork(const Model& model);

  const std::vector<Shape>& shapes() const { return shapes_; }

  // The values of all nodes for one example; what `replaced` makes of one, later nodes take.
  using Replaced = std::function<void(std::size_t node, Integers& value)>;
  std::vector<Integers> values(const Integers& input, const Replaced& replaced = {}) const;

 private:
  Network network_;
  std::vector<Shape> shapes_;
  std::vector<Integers> weights_;  // by node: weight, multiplier or table
  std::vector<Integers> biases_;
};

}  // namespace nibble::inline graph
