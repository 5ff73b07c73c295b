// SPDX-License-Identifier: Apache-2.0
// Moves the ranges of features from the input into the first layers.
#include "quantization/passes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/line.h"
#include "graph/model_parts.h"
#include "graph/model_writer.h"
#include "graph/node_error.h"
#include "graph/parameters.h"
#include "quantization/quantization_points.h"

namespace nibble::inline quantization {
namespace {

constexpr float kNoEpsilon = 1e-30F;  // below what a variance of 1 or more can show

struct Range {
  double middle = 0;  // a whole number, which integers subtract exactly
  double half = 1;
};

std::vector<Range> ranges_of(const FloatBatches& batches, std::size_t features) {
  constexpr double kMost = std::numeric_limits<double>::infinity();
  std::vector<double> least(features, kMost);
  std::vector<double> most(features, -kMost);
  batches.for_each([&](ConstTensorView batch) {
    const std::span<const float> values = batch.as<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      least[i % features] = std::min(least[i % features], double{values[i]});
      most[i % features] = std::max(most[i % features], double{values[i]});
    }
  });
  std::vector<Range> ranges;
  for (std::size_t c = 0; c < features; ++c) {
    const double middle = std::round((least[c] + most[c]) / 2);
    ranges.push_back({middle, std::max({most[c] - middle, middle - least[c], 1.0})});
  }
  return ranges;
}

Tensor channel_tensor(const std::vector<Range>& ranges, auto&& value_of) {
  Tensor tensor(DType::f32, {static_cast<std::int64_t>(ranges.size())});
  std::ranges::transform(ranges, tensor.as<float>().begin(),
                         [&](const Range& each) { return static_cast<float>(value_of(each)); });
  return tensor;
}

// x = half·x' + middle.
Line line_of(const std::vector<Range>& ranges) {
  Line line;
  for (const Range& each : ranges) {
    line.factor.push_back(each.half);
    line.offset.push_back(each.middle);
  }
  return line;
}

void check(const Network& network) {
  const Node& input = network.nodes[0];
  const Shape& shape = std::get<Input>(input.op).shape;
  if (shape.rank() != 1) fail_node(input, "shape", shape.to_string(), "features, (n,)");
  const std::vector<std::vector<std::size_t>> readers = readers_of(network);
  for (const std::size_t reader : readers[0]) {
    const Node& node = network.nodes[reader];
    if (!is<Linear>(node.op)) fail_node(node, "input", "features", "a linear layer to read them");
  }
}

}  // namespace

Model with_feature_ranges(Model model, const FloatBatches& batches) {
  const Network network = model.network;
  check(network);
  const std::vector<Parameter> parameters = parameters_of(network);
  const auto features = static_cast<std::size_t>(input_of(network).shape[0]);
  const std::vector<Range> ranges = ranges_of(batches, features);
  ModelWriter to(network);
  std::size_t normalized = 0;
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    Node node = network.nodes[i];
    std::vector<Tensor> tensors;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      if (parameters[p].node == i) tensors.push_back(std::move(model.parameters[p]));
    }
    const bool reads_features = !node.inputs.empty() && node.inputs[0] == 0;
    for (std::size_t& input : node.inputs) ++input;  // behind the batch_norm
    if (reads_features) {
      auto& linear = std::get<Linear>(node.op);
      if (!linear.has_bias) {
        tensors.emplace_back(DType::f32, Shape{linear.features});
        std::ranges::fill(tensors.back().as<float>(), 0.0F);
        linear.has_bias = true;
      }
      take_line(line_of(ranges), tensors.front().as<float>(), tensors.back().as<float>());
      node.inputs[0] = normalized;
    }
    to.add(std::move(node), std::move(tensors));
    if (i > 0) continue;
    std::vector<Tensor> moments;
    moments.push_back(channel_tensor(ranges, [](const Range&) { return 1.0; }));
    moments.push_back(channel_tensor(ranges, [](const Range&) { return 0.0; }));
    moments.push_back(channel_tensor(ranges, [](const Range& each) { return each.middle; }));
    moments.push_back(
        channel_tensor(ranges, [](const Range& each) { return each.half * each.half; }));
    normalized = to.add(
        {.name = to.fresh_name("features"), .op = BatchNorm{.epsilon = kNoEpsilon}, .inputs = {0}},
        std::move(moments));
  }
  return to.finished();
}

}  // namespace nibble::inline quantization
