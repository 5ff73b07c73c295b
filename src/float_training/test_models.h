// SPDX-License-Identifier: Apache-2.0
// A small model of the digits with steps everywhere, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "float_training/initialize.h"
#include "nibble/data/dataset.h"
#include "nibble/float_training/fine_tune.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline float_training {

constexpr const char* kFloatDigits = R"(
name = "digits"
input = [8, 8, 1]
layers = [
  {op="conv2d", name="conv", channels=8, kernel=3, padding=1, bias=true},
  {op="relu", name="relu"},
  {op="max_pool"},
  {op="flatten", name="flat"},
  {op="linear", name="fc", features=10, bias=true},
  {op="softmax_cross_entropy"}])";

constexpr const char* kQuantizedDigits = R"(
name = "digits-steps"
input = [8, 8, 1]
layers = [
  {op="fake_quantize", name="q0", low=0, high=15},
  {op="conv2d", name="conv", channels=8, kernel=3, padding=1, bias=true, weight_steps=8, weight_format="int4"},
  {op="relu", name="relu"},
  {op="fake_quantize", name="q1", low=0, high=15, format="uint4"},
  {op="max_pool"},
  {op="flatten", name="flat"},
  {op="linear", name="fc", features=10, bias=true, weight_steps=1, weight_format="int4"},
  {op="softmax_cross_entropy"}])";

// Random weights, trained in floats.
inline Model float_digits(std::int64_t epochs = 4) {
  Model model{parse_network(kFloatDigits, "digits"), {}};
  model.parameters = initial_parameters(model.network, Initialization::he, 1);
  return fine_tune(model, load_dataset("digits", Split::train),
                   {.epochs = epochs, .batch = 32, .optimizer = {.rate = 0.03}});
}

// Its numbers with steps beside them: of weights the largest / 7, of values a fixed one.
inline Model quantized_digits(const Model& from) {
  Model model{parse_network(kQuantizedDigits, "digits-steps"), {}};
  const std::vector<Parameter> had = parameters_of(from.network);
  for (const Parameter& each : parameters_of(model.network)) {
    const auto same = std::ranges::find(had, each.name, &Parameter::name);
    if (same != had.end()) {
      const auto place = static_cast<std::size_t>(same - had.begin());
      model.parameters.push_back(copy_of(from.parameters[place].view()));
      continue;
    }
    Tensor step(DType::f32, each.shape);
    const Node& node = model.network.nodes[each.node];
    float value = node.name == "q0" ? 1.0F / 15 : 2.0F / 15;
    if (!is<FakeQuantize>(node.op)) {
      value = 0;
      for (const float w : model.parameters.back().as<float>())
        value = std::max(value, std::abs(w));
      value /= 7;
    }
    std::ranges::fill(step.as<float>(), value);
    model.parameters.push_back(std::move(step));
  }
  return model;
}

}  // namespace nibble::inline float_training
