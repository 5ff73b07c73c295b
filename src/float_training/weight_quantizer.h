// SPDX-License-Identifier: Apache-2.0
// The weight of a layer as its products use it: rounded to multiples of learned steps where the
// layer has them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "float_training/layer.h"
#include "float_training/step_rounding.h"

namespace nibble::inline float_training {

// Of a convolution or linear layer: 0, 1 or one an output; 0 of all others.
std::int64_t weight_steps_of(const Op& op);

// Whether a parameter of the node is rounded to steps, or is one: no rule of a policy rounds it.
bool has_own_rounding(const Node& node, std::string_view kind);

// A weight (outputs, …), rounded by one step or by one an output; `to` may be the weight.
void round_weight(ConstTensorView weight, std::span<const float> steps, const IntegerGrid& grid,
                  TensorView to);

class WeightQuantizer {
 public:
  explicit WeightQuantizer(const Node& node);

  // The weight and, where there are any, its steps: how a layer's parameters begin.
  std::vector<LayerParameter*> parameters();

  // What products use; rounded anew where weight or steps have changed. Not for several threads.
  const LayerParameter& used();

  // Where a layer leaves the gradient by the used weight; after it the true ones take its place.
  std::span<float> gradient() { return weight_.gradient.as<float>(); }
  void finish_gradient();

 private:
  std::optional<IntegerGrid> grid_;  // none: no steps
  LayerParameter weight_;
  LayerParameter step_;
  LayerParameter rounded_;
  std::optional<std::uint64_t> weight_version_;  // of what was rounded
  std::optional<std::uint64_t> step_version_;
};

}  // namespace nibble::inline float_training
