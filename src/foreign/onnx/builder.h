// SPDX-License-Identifier: Apache-2.0
// A network that grows node by node, with its parameters and shapes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "nibble/graph/network.h"

namespace nibble::inline foreign {

class Builder {
 public:
  // Adds a node under a name that is made valid and unique; parameters in the order of
  // parameters_of. Throws where its inputs do not fit.
  std::size_t add(std::string_view wished_name, Node node, std::vector<Tensor> parameters = {});

  const Shape& shape(std::size_t node) const { return shapes_[node]; }
  const Network& network() const { return model_.network; }
  std::size_t last() const { return model_.network.nodes.size() - 1; }

  // Gives the last node, a product without one, a bias.
  void add_bias_to_last(Tensor bias);

  Model finish(std::string name);  // checks the whole network

 private:
  std::string free_name(std::string_view wish);

  Model model_;
  std::vector<Shape> shapes_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, std::size_t> wishes_;  // how often a name was asked for
};

}  // namespace nibble::inline foreign
