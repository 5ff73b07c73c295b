// SPDX-License-Identifier: Apache-2.0
// Rounds in a fake-quantized network what its integers round beyond its fake_quantize layers.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graph/model_writer.h"
#include "graph/parameters.h"
#include "nibble/quantization/quantize_model.h"
#include "quantization/integer_parts.h"

namespace nibble::inline quantization {

Model with_rounded_addends(Model fake_quantized, IntegerForm form) {
  const std::vector<UnitChange> changes = unit_changes_of(fake_quantized, form);
  const Network network = fake_quantized.network;
  const std::vector<Parameter> parameters = parameters_of(network);
  ModelWriter to(network);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    Node node = network.nodes[i];
    for (std::size_t& input : node.inputs) input = places[input];
    for (const UnitChange& change : changes) {
      if (change.add != i) continue;
      const auto count = static_cast<std::int64_t>(change.unit.size());
      std::vector<Tensor> steps;
      steps.emplace_back(DType::f32, Shape{count});
      std::ranges::transform(change.unit, steps[0].as<float>().begin(),
                             [](double unit) { return static_cast<float>(unit); });
      std::size_t& input = node.inputs[change.operand];
      input = to.add({.name = to.fresh_name(fmt::format("{}.{}", node.name, change.operand + 1)),
                      .op = FakeQuantize{-kMaxInteger, kMaxInteger, count},
                      .inputs = {input}},
                     std::move(steps));
    }
    std::vector<Tensor> tensors;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      if (parameters[p].node == i) tensors.push_back(std::move(fake_quantized.parameters[p]));
    }
    places.push_back(to.add(std::move(node), std::move(tensors)));
  }
  return to.finished();
}

Model with_integer_biases(Model fake_quantized) {
  const std::vector<std::vector<double>> units = units_of(fake_quantized);
  const std::vector<Parameter> parameters = parameters_of(fake_quantized.network);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const std::size_t node = parameters[p].node;
    if (parameters[p].kind != "bias" || node >= units.size()) continue;
    Tensor& bias = fake_quantized.parameters[p];
    const Tensor integers = integer_bias(fake_quantized.network.nodes[node], bias, units[node]);
    for (std::size_t c = 0; c < bias.as<float>().size(); ++c) {
      const double unit = units[node][units[node].size() == 1 ? 0 : c];
      bias.as<float>()[c] =
          static_cast<float>(unit * static_cast<double>(integers.as<std::int32_t>()[c]));
    }
  }
  return fake_quantized;
}

IntegerTwins integer_twins_of(Model fake_quantized, IntegerForm form) {
  Model fake = with_rounded_addends(with_integer_biases(std::move(fake_quantized)), form);
  Model integers = integer_network_of(fake, form);
  return {.fake = std::move(fake), .integers = std::move(integers)};
}

}  // namespace nibble::inline quantization
