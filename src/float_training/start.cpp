// SPDX-License-Identifier: Apache-2.0
// A model whose parameters a training run begins with.
#include "float_training/start.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <utility>

#include "epoch_loop/run_training.h"
#include "nibble/core/error.h"
#include "nibble/float_training/recipe.h"

namespace nibble::inline float_training {
namespace {

void check_numbers(const Parameter& parameter, const Tensor& tensor) {
  if (tensor.dtype() != DType::f32 || tensor.shape() != parameter.shape) {
    throw Error("train", kStart,
                fmt::format("{} as {} {}", parameter.name, name_of(tensor.dtype()),
                            tensor.shape().to_string()),
                fmt::format("a model of floats, f32 {}", parameter.shape.to_string()),
                ErrorKind::input);
  }
  if (parameter.kind != "step") return;
  for (const float step : tensor.as<float>()) {
    if (step > 0 && std::isfinite(step)) continue;
    throw Error("train", kStart, fmt::format("{} of {}", step, parameter.name),
                "steps that are finite and above 0", ErrorKind::input);
  }
}

}  // namespace

void check_start(const Network& network, const Model& start) {
  check_same_parameters(network, start.network);
  const std::vector<Parameter> parameters = parameters_of(network);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    check_numbers(parameters[i], start.parameters[i]);
}

void start_from(Recipe& recipe, Model model) {
  take_network(recipe, model.network);
  check_start(recipe.network, model);
  recipe.start = std::make_shared<const Model>(std::move(model));
}

}  // namespace nibble::inline float_training
