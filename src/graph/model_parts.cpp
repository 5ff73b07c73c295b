// SPDX-License-Identifier: Apache-2.0
// Parameters by name, nodes by place.
#include "graph/model_parts.h"

#include <algorithm>
#include <utility>

#include "graph/parameters.h"
#include "nibble/core/error.h"

namespace nibble::inline graph {

ParametersByName take_parameters(Model model) {
  const std::vector<Parameter> parameters = checked_parameters(model);
  ParametersByName by_name;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    by_name.emplace(parameters[i].name, std::move(model.parameters[i]));
  }
  return by_name;
}

Model model_of(Network network, ParametersByName parameters) {
  Model model{.network = std::move(network), .parameters = {}};
  for (const Parameter& parameter : parameters_of(model.network)) {
    const auto found = parameters.find(parameter.name);
    if (found == parameters.end()) {
      throw Error("model", "parameter " + parameter.name, "none", parameter.shape.to_string(),
                  ErrorKind::input);
    }
    model.parameters.push_back(std::move(found->second));
  }
  return model;
}

Network without_nodes(Network network, const std::vector<std::size_t>& substitutes) {
  std::vector<Node> nodes = std::exchange(network.nodes, {});
  std::vector<std::size_t> place(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (substitutes[i] != i) {
      place[i] = place[substitutes[i]];
      continue;
    }
    for (std::size_t& input : nodes[i].inputs) input = place[input];
    place[i] = network.nodes.size();
    network.nodes.push_back(std::move(nodes[i]));
  }
  return network;
}

Network with_loss(Network network, const Op& loss) {
  if (is_loss(network.nodes.back().op)) return network;
  std::string name = "loss";
  while (std::ranges::any_of(network.nodes, [&](const Node& node) { return node.name == name; }))
    name += "_";
  network.nodes.push_back({.name = name, .op = loss, .inputs = {network.nodes.size() - 1}});
  return network;
}

std::vector<std::vector<std::size_t>> readers_of(const Network& network) {
  std::vector<std::vector<std::size_t>> readers(network.nodes.size());
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    for (const std::size_t input : network.nodes[i].inputs) readers[input].push_back(i);
  }
  return readers;
}

bool is_product(const Op& op) {
  return is<Conv2d>(op) || is<Linear>(op);
}

std::string parameter_name(const Node& node, std::string_view kind) {
  return node.name + "." + std::string(kind);
}

std::span<float> bias_of(Node& product, ParametersByName& parameters) {
  auto* conv = std::get_if<Conv2d>(&product.op);
  bool& has_bias = conv ? conv->has_bias : std::get<Linear>(product.op).has_bias;
  Tensor& bias = parameters[parameter_name(product, "bias")];
  if (!std::exchange(has_bias, true)) {
    bias = Tensor(DType::f32, {conv ? conv->channels : std::get<Linear>(product.op).features});
    std::ranges::fill(bias.as<float>(), 0.0F);
  }
  return bias.as<float>();
}

}  // namespace nibble::inline graph
