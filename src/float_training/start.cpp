// SPDX-License-Identifier: Apache-2.0
// A model whose parameters a training run begins with.
#include "float_training/start.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "nibble/core/error.h"
#include "nibble/float_training/recipe.h"

namespace nibble::inline float_training {
namespace {

std::string text_at(const std::vector<Parameter>& parameters, std::size_t i) {
  if (i >= parameters.size()) return "no more parameters";
  return parameters[i].name + " " + parameters[i].shape.to_string();
}

void check_numbers(const Parameter& parameter, const Tensor& tensor, const std::string& what) {
  if (tensor.dtype() != DType::f32 || tensor.shape() != parameter.shape) {
    throw Error("train", what,
                fmt::format("{} as {} {}", parameter.name, name_of(tensor.dtype()),
                            tensor.shape().to_string()),
                fmt::format("a model of floats, f32 {}", parameter.shape.to_string()),
                ErrorKind::input);
  }
  if (parameter.kind != "step") return;
  for (const float step : tensor.as<float>()) {
    if (step > 0 && std::isfinite(step)) continue;
    throw Error("train", what, fmt::format("{} of {}", step, parameter.name),
                "steps that are finite and above 0", ErrorKind::input);
  }
}

}  // namespace

void check_start(const Network& network, const Model& start) {
  const std::vector<Parameter> wanted = parameters_of(network);
  const std::vector<Parameter> got = parameters_of(start.network);
  const std::string what = "model to start from";
  for (std::size_t i = 0; i < std::max(wanted.size(), got.size()); ++i) {
    if (text_at(got, i) == text_at(wanted, i)) continue;
    throw Error("train", what, fmt::format("{} in {}", text_at(got, i), start.network.name),
                fmt::format("{}, as {} has it", text_at(wanted, i), network.name),
                ErrorKind::input);
  }
  for (std::size_t i = 0; i < wanted.size(); ++i)
    check_numbers(wanted[i], start.parameters[i], what);
}

Network with_loss(Network network, const Op& loss) {
  if (is_loss(network.nodes.back().op)) return network;
  std::string name = "loss";
  while (std::ranges::any_of(network.nodes, [&](const Node& node) { return node.name == name; }))
    name += "_";
  network.nodes.push_back({.name = name, .op = loss, .inputs = {network.nodes.size() - 1}});
  return network;
}

void start_from(Recipe& recipe, Model model) {
  if (recipe.network.nodes.empty()) {
    recipe.network = with_loss(model.network, SoftmaxCrossEntropy{});
    if (recipe.name.empty()) recipe.name = recipe.network.name;
  }
  check_start(recipe.network, model);
  recipe.start = std::make_shared<const Model>(std::move(model));
}

}  // namespace nibble::inline float_training
