// SPDX-License-Identifier: Apache-2.0
// Counts what a network costs: products, where every output of a convolution or a linear layer
// takes one for each weight in reach, and elsewhere numbers that are read or written.
#include <fmt/format.h>

#include <algorithm>

#include "graph/node_error.h"
#include "graph/shapes.h"
#include "nibble/graph/network.h"

namespace nibble::inline graph {
namespace {

// Weights of one output; 0: it has none.
std::int64_t weights_of_output(const Op& op, const Shape& in) {
  if (const auto* conv = std::get_if<Conv2d>(&op)) {
    return conv->kernel.y * conv->kernel.x * (in[2] / conv->groups);
  }
  return is<Linear>(op) ? in[0] : 0;
}

// Numbers that one output of a pool looks at.
std::int64_t pooled_numbers(const Op& op, const Shape& in) {
  const auto inside = [&](Extent2 kernel) {
    return std::min(kernel.y, in[0]) * std::min(kernel.x, in[1]);
  };
  if (const auto* pool = std::get_if<MaxPool>(&op)) return inside(pool->kernel);
  if (const auto* pool = std::get_if<AveragePool>(&op)) return inside(pool->kernel);
  if (const auto* pool = std::get_if<SumPool>(&op)) return inside(pool->kernel);
  return 1;
}

}  // namespace

void check_costs(const Network& network, std::span<const Shape> shapes, const Limits& most) {
  std::int64_t work = 0;
  std::int64_t weights = 0;
  for (std::size_t i = 1; i < network.nodes.size(); ++i) {
    const Node& node = network.nodes[i];
    const Shape& in = shapes[node.inputs.front()];
    const std::int64_t values = shapes[i].elements();
    const std::int64_t per_output = weights_of_output(node.op, in);
    const std::int64_t per_value = per_output > 0 ? per_output : pooled_numbers(node.op, in);
    std::int64_t read = 0;
    for (const std::size_t input : node.inputs) read += shapes[input].elements();
    const bool is_too_much = values > 0 && per_value > most.macs / values;
    work += is_too_much ? 0 : std::max(values * per_value, read);
    if (is_too_much || work > most.macs) {
      fail_node(node, "multiply-accumulates, with all before it",
                is_too_much ? fmt::format("{} · {}", values, per_value) : std::to_string(work),
                at_most("macs", most.macs), ErrorKind::limit);
    }
    if (per_output > 0) {  // each of them is at most kMaxTensor
      const std::int64_t outputs = shapes[i][shapes[i].rank() - 1];
      weights += outputs * per_output * static_cast<std::int64_t>(sizeof(float));
    }
    if (weights > most.memory) {
      fail_node(node, "weights, with all before it", fmt::format("{} bytes as fp32", weights),
                at_most("memory", most.memory), ErrorKind::limit);
    }
  }
}

std::vector<std::int64_t> multiply_accumulates(const Network& network) {
  const std::vector<Shape> shapes = infer_shapes(network);
  std::vector<std::int64_t> counts(network.nodes.size());
  for (std::size_t i = 1; i < counts.size(); ++i) {
    const Node& node = network.nodes[i];
    counts[i] = shapes[i].elements() * weights_of_output(node.op, shapes[node.inputs.front()]);
  }
  return counts;
}

}  // namespace nibble::inline graph
