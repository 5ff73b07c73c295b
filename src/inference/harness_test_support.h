// SPDX-License-Identifier: Apache-2.0
// A small network of integers for tests: pictures of 2 by 2, three classes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "nibble/graph/network.h"

namespace nibble::inline inference {

template <class Number>
Tensor tensor_of(const Shape& shape, std::initializer_list<Number> numbers) {
  Tensor tensor(DTypeOf<Number>::value, shape);
  std::copy(numbers.begin(), numbers.end(), tensor.as<Number>().begin());
  return tensor;
}

// Class k is 1·(the sum of channel k) + its bias k; divided by 2, 4, 8 where it ends so.
inline Model channel_sums(bool is_divided, const std::string& format = "int8(scale=0.5)") {
  Model model;
  Network& network = model.network;
  network.name = "sums";
  network.class_names = {"red", "green", "blue"};
  network.nodes.push_back(
      {.name = "input",
       .op = Input{.shape = {2, 2, 3}, .mean = {0.0F, 0.5F, 1.0F}, .deviation = {0.5F, 0.5F, 0.5F}},
       .value = {.format = parse_format(format)}});
  network.nodes.push_back(
      {.name = "pool", .op = SumPool{.kernel = {2, 2}, .stride = {1, 1}}, .inputs = {0}});
  network.nodes.push_back({.name = "flat", .op = Flatten{}, .inputs = {1}});
  network.nodes.push_back({.name = "bias", .op = Bias{}, .inputs = {2}});
  model.parameters.push_back(tensor_of<std::int32_t>({3}, {0, 1, 2}));
  if (!is_divided) return model;
  network.nodes.push_back(
      {.name = "scale",
       .op =
           Rescale{
               .shift = 1, .low = -127, .high = 127, .is_per_channel = true, .has_divisor = true},
       .inputs = {3}});
  model.parameters.push_back(tensor_of<std::int32_t>({3}, {4, 2, 1}));
  model.parameters.push_back(tensor_of<float>({3}, {2, 4, 8}));
  return model;
}

}  // namespace nibble::inline inference
