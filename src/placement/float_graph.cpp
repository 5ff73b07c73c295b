// SPDX-License-Identifier: Apache-2.0
// Which units a step of float training has, and what flows between them.
#include "placement/float_graph.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "graph/model_parts.h"

namespace nibble::inline placement {
namespace {

constexpr std::int64_t kFloatBytes = 4;

std::int64_t bytes_of(WireFormat wire) {
  switch (wire) {
    case WireFormat::int8:
      return 1;
    case WireFormat::fp16:
    case WireFormat::bf16:
      return 2;
    default:
      return kFloatBytes;
  }
}

// On the device: until the next one comes, until the host has it, or a weight.
enum class FlowKind { stays, passes, is_sent };

class FloatGraphMaker {
 public:
  FloatGraphMaker(const Recipe& recipe, std::int64_t images)
      : recipe_(recipe),
        network_(recipe.network),
        images_(images),
        answer_(output_of(network_)),
        loss_(network_.nodes.size() - 1),
        shapes_(infer_shapes(network_)),
        readers_(readers_of(network_)),
        numbers_(network_.nodes.size()),
        is_trained_(network_.nodes.size()) {
    for (const Parameter& each : parameters_of(network_)) {
      if (each.is_trained) numbers_[each.node] += each.shape.elements();
    }
    for (std::size_t i = 0; i <= answer_; ++i) {
      is_trained_[i] = numbers_[i] > 0 || std::ranges::any_of(inputs_of(i), [&](std::size_t input) {
                         return is_trained_[input];
                       });
    }
  }

  StepGraph make() {
    add_units();
    graph_.group.resize(graph_.units.size());
    std::iota(graph_.group.begin(), graph_.group.end(), std::size_t{0});
    for (std::size_t i = 1; i <= answer_; ++i) {
      if (can_move(i)) add_flows(i);
    }
    return std::move(graph_);
  }

 private:
  const std::vector<std::size_t>& inputs_of(std::size_t node) const {
    return network_.nodes[node].inputs;
  }
  bool can_move(std::size_t node) const {
    return is_product(network_.nodes[node].op) &&
           recipe_.policy.find(Role::accumulator, network_.nodes[node].name) == nullptr;
  }
  std::int64_t values_of(std::size_t node) const { return images_ * shapes_[node].elements(); }
  // All that is on the device is what flows: numbers in fp32, whatever crosses.
  void add_unit(StepUnit unit, bool is_fixed) {
    number_[unit] = graph_.units.size();
    graph_.units.push_back({unit, network_.nodes[unit.node].name, 0, is_fixed});
  }

  void add_units() {
    for (std::size_t i = 0; i <= answer_; ++i) add_unit({i, TrainPass::forward}, !can_move(i));
    add_unit({loss_, TrainPass::forward}, true);
    for (std::size_t i = answer_; i > 0; --i) {
      if (!is_trained_[i]) continue;
      const bool passes_on = is_trained_[inputs_of(i)[0]];
      if (!can_move(i)) {
        add_unit({i, TrainPass::input_error}, true);
        continue;
      }
      if (passes_on) add_unit({i, TrainPass::input_error}, false);
      if (numbers_[i] > 0) add_unit({i, TrainPass::weight_gradient}, false);
    }
    for (std::size_t i = answer_; i > 0; --i) {
      if (numbers_[i] > 0) add_unit({i, TrainPass::update}, true);
    }
  }

  // Readers that the step does not have are left out; a flow that nobody reads is none.
  void add_flow(std::string tensor, StepUnit from, const std::vector<StepUnit>& to,
                std::int64_t numbers, std::int64_t bytes, FlowKind kind = FlowKind::stays) {
    const auto maker = number_.find(from);
    if (maker == number_.end()) return;
    Flow flow{.tensor = std::move(tensor),
              .from = maker->second,
              .to = {},
              .bytes = bytes * numbers,
              .is_sent = kind == FlowKind::is_sent,
              .is_passing = kind == FlowKind::passes,
              .unpacked = kFloatBytes * numbers};
    for (const StepUnit& each : to) {
      if (const auto found = number_.find(each); found != number_.end())
        flow.to.push_back(found->second);
    }
    if (!flow.to.empty()) graph_.flows.push_back(std::move(flow));
  }

  // By the names that the host's trace has for them.
  void add_flows(std::size_t node) {
    const std::string& name = network_.nodes[node].name;
    const std::size_t input = inputs_of(node)[0];
    const StepUnit ahead{node, TrainPass::forward};
    const StepUnit back{node, TrainPass::input_error};
    const StepUnit learns{node, TrainPass::weight_gradient};
    const StepUnit moves{node, TrainPass::update};
    const std::int64_t wire = bytes_of(recipe_.wire);
    add_flow(name + ".input", {input, TrainPass::forward}, {ahead, learns}, values_of(input), wire);
    std::vector<StepUnit> readers;
    for (const std::size_t each : readers_[node]) readers.push_back({each, TrainPass::forward});
    add_flow(name + ".value", ahead, readers, values_of(node), wire, FlowKind::passes);
    add_flow(name + ".error", last_sender(node), {back, learns}, values_of(node), wire);
    add_flow(name + ".input_error", back, behind(input), values_of(input), wire, FlowKind::passes);
    add_flow(name + ".gradients", learns, {moves}, numbers_[node], kFloatBytes, FlowKind::passes);
    add_flow(name + ".weight", moves, {ahead, back}, numbers_[node], wire, FlowKind::is_sent);
  }

  // Who has the whole error of a value: the reader that goes back last.
  StepUnit last_sender(std::size_t node) const {
    if (node == answer_) return {loss_, TrainPass::forward};
    return {std::ranges::min(readers_[node]), TrainPass::input_error};
  }
  std::vector<StepUnit> behind(std::size_t node) const {
    return {{node, TrainPass::input_error}, {node, TrainPass::weight_gradient}};
  }

  const Recipe& recipe_;
  const Network& network_;
  std::int64_t images_;
  std::size_t answer_;
  std::size_t loss_;
  std::vector<Shape> shapes_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<std::int64_t> numbers_;  // by node: that are trained
  std::vector<bool> is_trained_;       // by node: it or something before it
  std::map<StepUnit, std::size_t> number_;
  StepGraph graph_;
};

}  // namespace

StepGraph float_step_graph(const Recipe& recipe, std::int64_t images) {
  return FloatGraphMaker(recipe, images).make();
}

}  // namespace nibble::inline placement
