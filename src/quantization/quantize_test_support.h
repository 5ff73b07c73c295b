// SPDX-License-Identifier: Apache-2.0
// What the tests of this module share: models and batches with numbers in them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/graph_test_support.h"
#include "nibble/core/philox.h"
#include "nibble/float_training/forward.h"
#include "nibble/graph/network.h"

namespace nibble::inline quantization {

// In [-1, 1), a function of its place.
inline float random_value(std::size_t stream, std::size_t i) {
  const std::uint32_t draw = draw32({7, static_cast<std::uint32_t>(stream), 0}, i);
  return static_cast<float>(std::ldexp(static_cast<double>(draw), -31) - 1.0);
}

// A sum of twelve of them, near a normal distribution of deviation 1 (within ±6 or so).
inline float normal_value(std::size_t i) {
  float sum = 0;
  for (std::size_t k = 0; k < 12; ++k) sum += random_value(100 + k, i);
  return sum / 2;
}

// Weights and biases in ±0.5; of batch norms, variances and scales around 1.
inline Model random_model(const Network& network) {
  Model model{.network = network, .parameters = {}};
  std::size_t stream = 0;
  for (const Parameter& parameter : parameters_of(network)) {
    Tensor tensor(DType::f32, parameter.shape);
    const auto values = tensor.as<float>();
    const bool is_near_one = parameter.kind == "variance" || parameter.kind == "scale";
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = 0.5F * random_value(stream, i) + (is_near_one ? 1.0F : 0.0F);
    }
    model.parameters.push_back(std::move(tensor));
    ++stream;
  }
  return model;
}

inline Tensor random_batch(const Network& network, std::int64_t examples) {
  std::vector<std::int64_t> extents = {examples};
  for (const std::int64_t each : input_of(network).shape.extents()) extents.push_back(each);
  Tensor batch(DType::f32, Shape(extents));
  const auto values = batch.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = random_value(99, i);
  return batch;
}

// Within rounding of float sums.
inline void expect_same_answers(const Model& a, const Model& b) {
  const Tensor batch = random_batch(a.network, 3);
  const Tensor x = answers_of(a, batch.view());
  const Tensor y = answers_of(b, batch.view());
  ASSERT_EQ(x.shape(), y.shape());
  float most = 0;
  for (const float each : x.as<float>()) most = std::max(most, std::abs(each));
  for (std::size_t i = 0; i < x.as<float>().size(); ++i) {
    EXPECT_NEAR(x.as<float>()[i], y.as<float>()[i], 1e-5F * most) << i;
  }
}

inline std::span<float> parameter(Model& model, const std::string& name) {
  const std::vector<Parameter> parameters = parameters_of(model.network);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name == name) return model.parameters[i].as<float>();
  }
  throw Error("test", "no parameter " + name);
}

inline std::vector<std::string> node_names(const Network& network) {
  std::vector<std::string> names;
  for (const Node& node : network.nodes) names.push_back(node.name);
  return names;
}

}  // namespace nibble::inline quantization
