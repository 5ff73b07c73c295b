// SPDX-License-Identifier: Apache-2.0
// Weights on learned steps.
#include "float_training/weight_quantizer.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "nibble/core/parallel.h"

namespace nibble::inline float_training {
namespace {

constexpr std::int64_t kWeightsAtOnce = 32768;  // weights a task, about

// Calls body(output, its first weight, its step) for all outputs, on several threads.
template <class Body>
void for_each_output(const Shape& weight, std::span<const float> steps, const Body& body) {
  const auto outputs = static_cast<std::size_t>(weight[0]);
  const std::int64_t row = weight.elements() / weight[0];
  const auto grain = static_cast<std::size_t>(std::max<std::int64_t>(kWeightsAtOnce / row, 1));
  parallel_for(outputs, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t o = begin; o < end; ++o) {
      body(o, o * static_cast<std::size_t>(row), steps[steps.size() == 1 ? 0 : o]);
    }
  });
}

}  // namespace

std::int64_t weight_steps_of(const Op& op) {
  if (const auto* conv = std::get_if<Conv2d>(&op)) return conv->weight_steps;
  if (const auto* linear = std::get_if<Linear>(&op)) return linear->weight_steps;
  return 0;
}

bool has_own_rounding(const Node& node, std::string_view kind) {
  return kind == "step" || (kind == "weight" && weight_steps_of(node.op) > 0);
}

void round_weight(ConstTensorView weight, std::span<const float> steps, const IntegerGrid& grid,
                  TensorView to) {
  const auto from = weight.as<float>();
  const std::size_t row = from.size() / static_cast<std::size_t>(weight.shape()[0]);
  float* rounded = to.as<float>().data();
  for_each_output(weight.shape(), steps, [&](std::size_t, std::size_t first, float step) {
    round_to_steps(from.subspan(first, row), step, grid, rounded + first);
  });
}

WeightQuantizer::WeightQuantizer(const Node& node) {
  if (weight_steps_of(node.op) > 0) grid_ = grid_of(node, node.weight.format);
}

std::vector<LayerParameter*> WeightQuantizer::parameters() {
  if (!grid_) return {&weight_};
  return {&weight_, &step_};
}

const LayerParameter& WeightQuantizer::used() {
  if (!grid_) return weight_;
  if (weight_version_ == weight_.version && step_version_ == step_.version) return rounded_;
  if (rounded_.value.data() == nullptr) rounded_.value = Tensor(DType::f32, weight_.value.shape());
  round_weight(weight_.value.view(), step_.value.as<float>(), *grid_, rounded_.value.view());
  weight_version_ = weight_.version;
  step_version_ = step_.version;
  ++rounded_.version;
  return rounded_;
}

void WeightQuantizer::finish_gradient() {
  if (!grid_) return;
  const auto weight = std::as_const(weight_).value.as<float>();
  const auto steps = std::as_const(step_).value.as<float>();
  const Shape& shape = weight_.value.shape();
  const std::size_t row = weight.size() / static_cast<std::size_t>(shape[0]);
  float* gradient = weight_.gradient.as<float>().data();
  std::vector<double> sums(static_cast<std::size_t>(shape[0]));
  for_each_output(shape, steps, [&](std::size_t o, std::size_t first, float step) {
    sums[o] = pass_back_steps(weight.subspan(first, row), gradient + first, step, *grid_,
                              gradient + first);
  });
  const auto step_count = static_cast<std::int64_t>(steps.size());
  const double factor = step_gradient_factor(shape.elements() / step_count, *grid_);
  const auto step_gradient = step_.gradient.as<float>();
  if (step_count == 1) sums = {std::accumulate(sums.begin(), sums.end(), 0.0)};
  for (std::size_t k = 0; k < step_gradient.size(); ++k)
    step_gradient[k] = static_cast<float>(factor * sums[k]);
}

}  // namespace nibble::inline float_training
