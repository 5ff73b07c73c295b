// SPDX-License-Identifier: Apache-2.0
// Models that integer training begins with; docs/integer-training.md has the law of their rounding.
#include "integer_training/integer_learner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "epoch_loop/run_training.h"
#include "graph/batch_norm.h"
#include "graph/fake_quantize.h"
#include "graph/integer_form.h"
#include "graph/model_parts.h"
#include "integer_step/trained_tensor.h"
#include "integer_training/dequantized.h"
#include "laws/round_shift.h"
#include "nibble/core/error.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline integer_training {
namespace {

constexpr int kRail = 127;

void check_floats(const Model& model) {
  const std::vector<Parameter> parameters = parameters_of(model.network);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& tensor = model.parameters[i];
    if (tensor.dtype() != DType::f32) {
      throw Error(
          "train", kStart, fmt::format("{} as {}", parameters[i].name, name_of(tensor.dtype())),
          "a float model, one of nibble train --arith int8, or one that nibble quantize wrote",
          ErrorKind::input);
    }
    const auto values = tensor.as<float>();
    if (!std::ranges::all_of(values, [](float x) { return std::isfinite(x); })) {
      throw Error("train", kStart, "a number in " + parameters[i].name + " that is not finite",
                  "finite weights", ErrorKind::input);
    }
  }
}

std::int64_t* weight_steps_in(Op& op) {
  if (auto* conv = std::get_if<Conv2d>(&op)) return &conv->weight_steps;
  if (auto* linear = std::get_if<Linear>(&op)) return &linear->weight_steps;
  return nullptr;
}

// A fake-quantized network with its weights as it rounds them and without its steps.
Model without_fake_quantization(Model model) {
  Network network = model.network;
  ParametersByName parameters = take_parameters(std::move(model));
  std::vector<std::size_t> substitutes(network.nodes.size());
  std::iota(substitutes.begin(), substitutes.end(), std::size_t{0});
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    Node& node = network.nodes[i];
    if (is<FakeQuantize>(node.op)) substitutes[i] = substitutes[node.inputs[0]];
    std::int64_t* count = weight_steps_in(node.op);
    if (count == nullptr || std::exchange(*count, 0) == 0) continue;
    const IntegerGrid grid = grid_of(node, node.weight.format);
    const auto steps = parameters[parameter_name(node, "step")].as<float>();
    const auto weight = parameters[parameter_name(node, "weight")].as<float>();
    const std::size_t row = weight.size() / steps.size();
    for (std::size_t k = 0; k < weight.size(); ++k)
      weight[k] = fake_quantized(weight[k], steps[k / row], grid);
  }
  return model_of(without_nodes(std::move(network), substitutes), std::move(parameters));
}

// Formats are the model's, not the network's that goes on.
Network without_formats(Network network) {
  for (Node& node : network.nodes) node.value = node.weight = node.bias = {};
  return network;
}

// f = clamp(round(x·2^(F - e)), 127·2^F), e = ⌈log2 max |x|⌉ - 7, of a bias at least that of drawn
// ones; the mantissa is what an update would make of f.
void round_into(WeightsState& state, const TrainedTensor& tensor, std::span<const float> values,
                int bits) {
  double largest = 0;
  for (const float x : values) largest = std::max(largest, std::abs(double{x}));
  state.exponent = exponent_for(largest);
  if (tensor.is_bias()) state.exponent = std::max(state.exponent, kBiasExponent);
  const auto mantissas = state.mantissas.as<std::int8_t>();
  const double limit = std::ldexp(kRail, bits);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double scaled = std::round(std::ldexp(double{values[i]}, bits - state.exponent));
    const auto fine = static_cast<std::int32_t>(std::clamp(scaled, -limit, limit));
    if (bits > 0) state.fine[i] = fine;
    const std::int64_t coarse = shift_nearest(fine, bits);
    mantissas[i] = static_cast<std::int8_t>(std::clamp<std::int64_t>(coarse, -kRail, kRail));
  }
}

void take_into(WeightsState& state, const Tensor& mantissas, int exponent, int bits) {
  state.mantissas = copy_of(mantissas.view());
  state.exponent = exponent;
  for (std::size_t i = 0; i < state.fine.size(); ++i)
    state.fine[i] = mantissas.as<std::int8_t>()[i] * (1 << bits);
}

}  // namespace

void start_from(IntegerRecipe& recipe, Model model) {
  if (is_quantized(model.network)) model = dequantized(model);
  take_network(recipe, model.network);
  check_same_parameters(recipe.network, model.network);
  if (!is_integer_model(model)) {
    check_floats(model);
    const Input input = input_of(model.network);
    model.network = recipe.network;
    std::get<Input>(model.network.nodes[0].op) = input;
    model = without_fake_quantization(std::move(model));
    if (has_batch_norm(model.network)) model = fold_batch_norm(std::move(model));
    recipe.network = model.network;
  }
  recipe.network = without_formats(std::move(recipe.network));
  recipe.start = std::make_shared<const Model>(std::move(model));
}

void write_start(const Model& start, const UpdateRule& rule,
                 std::span<TrainedTensor* const> parameters) {
  const int bits = std::visit([](const auto& own) { return own.fraction_bits; }, rule);
  const std::vector<Parameter> described = parameters_of(start.network);
  std::size_t next = 0;
  for (std::size_t i = 0; i < described.size(); ++i) {
    if (!described[i].is_trained) continue;  // statistics are found anew
    TrainedTensor& to = *parameters[next++];
    const Tensor& tensor = start.parameters[i];
    const Node& node = start.network.nodes[described[i].node];
    const Precision& format = described[i].kind == "bias" ? node.bias : node.weight;
    WeightsState state = to.read();
    if (tensor.dtype() == DType::i32)
      std::ranges::copy(tensor.as<std::int32_t>(), state.fine.begin());
    else if (tensor.dtype() == DType::i8)
      take_into(state, tensor, exponent_of(format).value(), bits);
    else
      round_into(state, to, tensor.as<float>(), bits);
    to.write(state);
  }
}

}  // namespace nibble::inline integer_training
