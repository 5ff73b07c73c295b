// SPDX-License-Identifier: Apache-2.0
// Batch norms and biases into the products before them, or behind them.
#include "graph/batch_norm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "graph/line.h"
#include "graph/model_parts.h"
#include "graph/node_error.h"

namespace nibble::inline graph {
namespace {

Line line_of(const Node& node, const ParametersByName& parameters) {
  const auto values = [&](std::string_view kind) {
    return parameters.find(parameter_name(node, kind))->second.as<float>();
  };
  const auto scale = values("scale");
  const auto shift = values("shift");
  const auto mean = values("mean");
  const auto variance = values("variance");
  const auto epsilon = static_cast<double>(std::get<BatchNorm>(node.op).epsilon);
  Line line;
  for (std::size_t c = 0; c < scale.size(); ++c) {
    const double spread = static_cast<double>(variance[c]) + epsilon;
    if (!(spread > 0) || !std::isfinite(spread)) {
      fail_node(node, fmt::format("variance of channel {}", c), fmt::format("{}", variance[c]),
                "a number above 0");
    }
    line.factor.push_back(static_cast<double>(scale[c]) / std::sqrt(spread));
    line.offset.push_back(static_cast<double>(shift[c]) -
                          static_cast<double>(mean[c]) * line.factor.back());
  }
  return line;
}

void fold_into(Node& product, const Line& line, ParametersByName& parameters) {
  const auto weight = parameters[parameter_name(product, "weight")].as<float>();
  const auto bias = bias_of(product, parameters);
  const std::size_t row = weight.size() / bias.size();
  for (std::size_t c = 0; c < bias.size(); ++c) {
    for (float& w : weight.subspan(c * row, row)) {
      w = static_cast<float>(static_cast<double>(w) * line.factor[c]);
    }
    bias[c] = static_cast<float>(static_cast<double>(bias[c]) * line.factor[c] + line.offset[c]);
  }
}

void fold_into_linear(Node& linear, const Line& line, ParametersByName& parameters) {
  const auto bias = bias_of(linear, parameters);
  take_line(line, parameters[parameter_name(linear, "weight")].as<float>(), bias);
}

void become_depthwise(Node& node, const Line& line, ParametersByName& parameters) {
  const auto channels = static_cast<std::int64_t>(line.factor.size());
  node.op = Conv2d{.channels = channels, .kernel = {1, 1}, .groups = channels, .has_bias = true};
  Tensor weight(DType::f32, {channels, 1, 1, 1});
  Tensor bias(DType::f32, {channels});
  for (std::size_t c = 0; c < line.factor.size(); ++c) {
    weight.as<float>()[c] = static_cast<float>(line.factor[c]);
    bias.as<float>()[c] = static_cast<float>(line.offset[c]);
  }
  parameters.insert_or_assign(parameter_name(node, "weight"), std::move(weight));
  parameters.insert_or_assign(parameter_name(node, "bias"), std::move(bias));
}

Line line_of_bias(const Node& node, const ParametersByName& parameters) {
  const auto bias = parameters.find(parameter_name(node, "bias"))->second.as<float>();
  return {std::vector<double>(bias.size(), 1.0), {bias.begin(), bias.end()}};
}

void check_unrounded(const Node& product) {
  const auto* conv = std::get_if<Conv2d>(&product.op);
  const std::int64_t steps = conv ? conv->weight_steps : std::get<Linear>(product.op).weight_steps;
  if (steps != 0) {
    fail_node(product, "weight_steps", std::to_string(steps), "0 before a batch norm");
  }
}

std::vector<std::size_t> every_node(const Network& network) {
  std::vector<std::size_t> places(network.nodes.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  return places;
}

Network without_dropouts(Network network) {
  std::vector<std::size_t> substitutes = every_node(network);
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    if (is<Dropout>(network.nodes[i].op)) substitutes[i] = network.nodes[i].inputs[0];
  }
  return without_nodes(std::move(network), substitutes);
}

}  // namespace

Model fold_batch_norm(Model model) {
  Network network = without_dropouts(model.network);
  ParametersByName parameters = take_parameters(std::move(model));
  const std::vector<Shape> shapes = infer_shapes(network);
  const auto readers = readers_of(network);
  std::vector<std::size_t> substitutes = every_node(network);
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    Node& node = network.nodes[i];
    const bool is_batch_norm = is<BatchNorm>(node.op);
    if (!is_batch_norm && !is<Bias>(node.op)) continue;
    const std::size_t input = node.inputs[0];
    Node& product = network.nodes[substitutes[input]];
    const bool folds = is_product(product.op) && readers[input].size() == 1;
    if (folds) {
      if (is_batch_norm) check_unrounded(product);
      fold_into(product, is_batch_norm ? line_of(node, parameters) : line_of_bias(node, parameters),
                parameters);
      product.value = node.value;
      substitutes[i] = substitutes[input];
    } else if (is_batch_norm && shapes[i].rank() != 3) {
      const bool is_before_linear =
          !readers[i].empty() && std::ranges::all_of(readers[i], [&](std::size_t reader) {
            return is<Linear>(network.nodes[reader].op);
          });
      if (!is_before_linear) {
        fail_node(node, "input", shapes[i].to_string() + " of " + network.nodes[input].name,
                  "a product that no other node reads, or a picture, or linear layers behind it");
      }
      const Line line = line_of(node, parameters);
      for (const std::size_t reader : readers[i]) {
        fold_into_linear(network.nodes[reader], line, parameters);
      }
      substitutes[i] = substitutes[input];
    } else if (is_batch_norm) {
      become_depthwise(node, line_of(node, parameters), parameters);
    }
  }
  return model_of(without_nodes(std::move(network), substitutes), std::move(parameters));
}

}  // namespace nibble::inline graph
