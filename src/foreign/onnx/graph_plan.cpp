// SPDX-License-Identifier: Apache-2.0
// Finds what counts in an ONNX graph, from its output back.
#include "foreign/onnx/graph_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/node_error.h"
#include "graph/shapes.h"
#include "nibble/core/error.h"

namespace nibble::inline foreign {
namespace {

constexpr std::string_view kDropped[] = {"Softmax", "LogSoftmax", "ArgMax", "Identity", "Cast"};

GraphInput input_from(const onnx::ValueInfoProto& info) {
  const auto fail = [&](const std::string& what, const std::string& got,
                        const std::string& expected) {
    throw Error("read_onnx", fmt::format("input {}: {}", in_quotes(info.name()), what), got,
                expected, ErrorKind::input);
  };
  const auto& tensor = info.type().tensor_type();
  const auto& dims = tensor.shape().dim();
  if (!info.type().has_tensor_type() || (dims.size() != 2 && dims.size() != 4)) {
    fail("shape", fmt::format("{} axes", dims.size()),
         "(batch, features) or (batch, channels, rows, columns)");
  }
  GraphInput input{.name = info.name(), .batch = 1, .extents = {}};
  if (dims[0].dim_value() > 0 && dims[0].dim_value() <= kMaxNumber) {
    input.batch = dims[0].dim_value();
  }
  for (int i = 1; i < dims.size(); ++i) {
    const std::int64_t extent = dims[i].dim_value();
    if (extent < 1 || extent > kMaxNumber) {
      fail(fmt::format("extent of axis {}", i),
           dims[i].has_dim_param() ? in_quotes(dims[i].dim_param()) : std::to_string(extent),
           "a number: only the batch may be open");
    }
    input.extents.push_back(extent);
  }
  return input;
}

std::string names_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::string text = fmt::format("{}", names.size());
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i == 0 ? ": " : ", ") + in_quotes(names[i]);
  }
  return text;
}

// Moves the output back over nodes at the end that change no class.
void drop_tail(const onnx::GraphProto& graph, GraphPlan& plan) {
  for (int i = graph.node_size(); i-- > 0;) {
    const auto& node = graph.node(i);
    if (node.output_size() == 0 || node.output(0) != plan.output) continue;
    if (std::ranges::find(kDropped, node.op_type()) == std::end(kDropped)) return;
    if (node.input_size() == 0) return;
    plan.dropped.push_back(&node);
    plan.output = node.input(0);
  }
}

void keep_needed(const onnx::GraphProto& graph, GraphPlan& plan) {
  std::unordered_set<std::string_view> wanted{plan.output};
  for (int i = graph.node_size(); i-- > 0;) {
    const auto& node = graph.node(i);
    if (std::ranges::none_of(node.output(),
                             [&](const std::string& name) { return wanted.contains(name); })) {
      continue;
    }
    plan.nodes.push_back(&node);
    for (const std::string& name : node.input()) {
      if (name.empty()) continue;
      wanted.insert(name);
      ++plan.readers[name];
    }
  }
  std::ranges::reverse(plan.nodes);
}

}  // namespace

GraphPlan plan_graph(const onnx::GraphProto& graph) {
  GraphPlan plan;
  std::vector<std::string> outputs;
  for (const auto& each : graph.output()) outputs.push_back(each.name());
  if (outputs.size() != 1)
    throw Error("read_onnx", "outputs", names_of(outputs), "one", ErrorKind::input);
  plan.output = outputs[0];
  drop_tail(graph, plan);
  keep_needed(graph, plan);

  // Old files list their weights among the inputs.
  std::unordered_set<std::string_view> stored;
  for (const auto& each : graph.initializer()) stored.insert(each.name());
  std::vector<const onnx::ValueInfoProto*> inputs;
  std::vector<std::string> names;
  for (const auto& each : graph.input()) {
    if (stored.contains(each.name())) continue;
    inputs.push_back(&each);
    names.push_back(each.name());
  }
  if (inputs.size() != 1)
    throw Error("read_onnx", "inputs", names_of(names), "one", ErrorKind::input);
  plan.input = input_from(*inputs[0]);
  return plan;
}

}  // namespace nibble::inline foreign
