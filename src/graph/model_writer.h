// SPDX-License-Identifier: Apache-2.0
// Makes a network node by node, each with its tensors.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nibble/graph/network.h"

namespace nibble::inline graph {

class ModelWriter {
 public:
  // With the name and the classes of another network.
  explicit ModelWriter(const Network& like) {
    model_.network.name = like.name;
    model_.network.class_names = like.class_names;
  }

  // Tensors in the order of the node's parameters; gives its index.
  std::size_t add(Node node, std::vector<Tensor> tensors = {}) {
    for (Tensor& each : tensors) model_.parameters.push_back(std::move(each));
    model_.network.nodes.push_back(std::move(node));
    return model_.network.nodes.size() - 1;
  }

  Node& node(std::size_t index) { return model_.network.nodes[index]; }

  // `name`, or with a number behind it where a node has it already.
  std::string fresh_name(const std::string& name) const {
    std::set<std::string_view> taken;
    for (const Node& each : model_.network.nodes) taken.insert(each.name);
    std::string fresh = name;
    for (int i = 2; taken.contains(fresh); ++i) fresh = name + std::to_string(i);
    return fresh;
  }

  Model finished() {
    (void)infer_shapes(model_.network);
    return std::move(model_);
  }

 private:
  Model model_;
};

}  // namespace nibble::inline graph
