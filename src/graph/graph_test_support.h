// SPDX-License-Identifier: Apache-2.0
// What the tests of this module share: errors as text, small networks, models with numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/test_support.h"
#include "nibble/graph/network.h"

namespace nibble::inline graph {

// Each operation takes the value of the one before it.
inline Network chain(const Shape& input, const std::vector<Op>& ops) {
  Network network{.name = "chain", .nodes = {}, .class_names = {}};
  network.nodes.push_back(
      {.name = "input", .op = Input{.shape = input, .mean = {}, .deviation = {}}});
  for (const Op& op : ops) {
    const std::size_t index = network.nodes.size();
    network.nodes.push_back({.name = "n" + std::to_string(index), .op = op, .inputs = {index - 1}});
  }
  return network;
}

// The shape that the operation gives.
inline Shape shape_after(const Shape& input, const Op& op) {
  return infer_shapes(chain(input, {op})).back();
}
inline std::string error_after(const Shape& input, const Op& op) {
  return error_of([&] { (void)infer_shapes(chain(input, {op})); });
}

// Numbers that differ from each other.
inline Model counted_model(const Network& network) {
  Model model{.network = network, .parameters = {}};
  float next = -1;
  for (const Parameter& parameter : parameters_of(network)) {
    Tensor tensor(DType::f32, parameter.shape);
    for (float& x : tensor.as<float>()) x = next += 0.25F;
    model.parameters.push_back(std::move(tensor));
  }
  return model;
}

}  // namespace nibble::inline graph
