// SPDX-License-Identifier: Apache-2.0
// Which units a step has, and what flows between them: the tape's own rules, told as a graph.
#include "placement/step_graph.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace nibble::inline placement {
namespace {

class GraphMaker {
 public:
  GraphMaker(const Network& network, const IntegerTape& tape, std::int64_t images)
      : network_(network),
        tape_(tape),
        images_(images),
        answer_(output_of(network)),
        pictures_(pictures_of(network)) {}

  StepGraph make() {
    graph_.host_gradients_wait = true;
    add_units();
    graph_.group.resize(graph_.units.size());
    std::iota(graph_.group.begin(), graph_.group.end(), std::size_t{0});
    for (std::size_t i = 0; i <= answer_; ++i) {
      add_value(i);
      add_errors(i);
      if (tape_.layer(i) != nullptr) add_parameters(i);
      if (tape_.layer(i) != nullptr && is_whole(i)) tie_norm(i);
    }
    tie({answer_, TrainPass::forward}, loss());
    return std::move(graph_);
  }

 private:
  StepUnit loss() const { return {network_.nodes.size() - 1, TrainPass::forward}; }
  bool is_whole(std::size_t node) const { return tape_.layer(node)->makes_whole_gradients(); }
  bool goes_back(std::size_t node) const { return tape_.goes_back(node); }
  std::vector<TrainedTensor*> parameters(std::size_t node) const {
    if (tape_.layer(node) == nullptr || !tape_.needs(node).has_parameters) return {};
    return tape_.layer(node)->parameters();
  }
  std::int64_t numbers(std::size_t node) const {  // that are trained
    std::int64_t sum = 0;
    for (const TrainedTensor* each : parameters(node))
      sum += static_cast<std::int64_t>(each->size());
    return sum;
  }
  std::int64_t value_bytes(std::size_t node) const {
    return images_ * pictures_[node].elements() + Wire::kExponentBytes;
  }

  // Who sends an error to a value.
  std::vector<StepUnit> arrivals(std::size_t node) const {
    return node == answer_ ? std::vector<StepUnit>{loss()} : tape_.error_senders(node);
  }

  void add_unit(StepUnit unit, std::int64_t memory) {
    number_[unit] = graph_.units.size();
    graph_.units.push_back({unit, network_.nodes[unit.node].name, memory});
  }

  void add_units() {
    for (std::size_t i = 0; i <= answer_; ++i) {
      if (i == 0 || tape_.layer(i) != nullptr)
        add_unit({i, TrainPass::forward}, value_bytes(i) + numbers(i));
    }
    add_unit(loss(), 0);
    for (std::size_t i = answer_; i > 0; --i) {
      if (!goes_back(i)) continue;
      if (numbers(i) > 0 && !is_whole(i)) add_unit({i, TrainPass::weight_gradient}, 8 * numbers(i));
      if (tape_.passes_error_on(i) || arrivals(i).size() > 1)
        add_unit({i, TrainPass::input_error}, 0);
    }
    for (std::size_t i = answer_; i > 0; --i) {  // mantissas, fine numbers, momentum
      if (goes_back(i) && numbers(i) > 0) add_unit({i, TrainPass::update}, 9 * numbers(i));
    }
  }

  // Readers that the step does not have are left out; a flow that nobody reads is none.
  void add_flow(std::string tensor, StepUnit from, std::initializer_list<StepUnit> to,
                std::int64_t bytes, bool is_sent = false) {
    add_flow(std::move(tensor), from, std::vector<StepUnit>(to), bytes, is_sent);
  }
  void add_flow(std::string tensor, StepUnit from, const std::vector<StepUnit>& to,
                std::int64_t bytes, bool is_sent = false) {
    Flow flow{std::move(tensor), number_.at(from), {}, bytes, is_sent};
    for (const StepUnit& each : to) {
      if (const auto found = number_.find(each); found != number_.end())
        flow.to.push_back(found->second);
    }
    if (!flow.to.empty()) graph_.flows.push_back(std::move(flow));
  }

  void add_value(std::size_t node) {
    if (!number_.contains({node, TrainPass::forward})) return;
    std::vector<StepUnit> readers = tape_.value_readers(node);
    if (node == answer_) readers.push_back(loss());
    const std::string& name = network_.nodes[node].name;
    add_flow(name + ".value", {node, TrainPass::forward}, readers, value_bytes(node));
    if (is<MaxPool>(network_.nodes[node].op) && goes_back(node)) {
      add_flow(name + ".marks", {node, TrainPass::forward}, {{node, TrainPass::input_error}},
               images_ * pictures_[node].elements());
    }
  }

  // Errors that meet are added where the sum is passed on.
  void add_errors(std::size_t node) {
    if (!goes_back(node)) return;
    const std::string tensor = network_.nodes[node].name + ".error";
    const StepUnit passes{node, TrainPass::input_error};
    const StepUnit learns{node, TrainPass::weight_gradient};
    const std::vector<StepUnit> senders = arrivals(node);
    const std::size_t before = graph_.flows.size();
    if (senders.size() == 1) {
      add_flow(tensor, senders[0], {passes, learns}, value_bytes(node));
    } else {
      for (const StepUnit& each : senders) add_flow(tensor, each, {passes}, value_bytes(node));
      if (!senders.empty()) add_flow(tensor, passes, {learns}, value_bytes(node));
    }
    for (std::size_t i = before; i < graph_.flows.size(); ++i) graph_.flows[i].is_passing = true;
  }

  void add_parameters(std::size_t node) {
    if (!goes_back(node)) return;
    const StepUnit moves{node, TrainPass::update};
    const StepUnit learns{node,
                          is_whole(node) ? TrainPass::input_error : TrainPass::weight_gradient};
    for (const TrainedTensor* each : parameters(node)) {
      add_flow(each->name() + ".gradient", learns, {moves}, each->gradient_bytes(images_));
      add_flow(each->name(), moves, {{node, TrainPass::forward}, {node, TrainPass::input_error}},
               each->wire_bytes(), true);
    }
  }

  void tie(StepUnit one, StepUnit other) {
    const auto first = number_.find(one);
    const auto second = number_.find(other);
    if (first == number_.end() || second == number_.end()) return;
    const std::size_t from = graph_.group[second->second];
    std::ranges::replace(graph_.group, from, graph_.group[first->second]);
  }

  // A batch norm remembers its batch, and reads the sums of a product where they are.
  void tie_norm(std::size_t node) {
    tie({node, TrainPass::forward}, {node, TrainPass::input_error});
    const std::size_t input = network_.nodes[node].inputs[0];
    if (tape_.layer(input) != nullptr && tape_.layer(input)->weight_of_sums() != nullptr)
      tie({node, TrainPass::forward}, {input, TrainPass::forward});
  }

  const Network& network_;
  const IntegerTape& tape_;
  std::int64_t images_;
  std::size_t answer_;
  std::vector<Picture> pictures_;
  std::map<StepUnit, std::size_t> number_;
  StepGraph graph_;
};

}  // namespace

const PlacedUnit* StepGraph::find(StepUnit unit) const {
  const auto found = std::ranges::find(units, unit, &PlacedUnit::unit);
  return found == units.end() ? nullptr : &*found;
}

Sides all_on(const StepGraph& graph, std::uint8_t side) {
  Sides sides;
  for (const PlacedUnit& each : graph.units) sides.push_back(each.is_fixed ? 0 : side);
  return sides;
}

LayerSides sides_of_layer(const StepGraph& graph, const Sides& sides, std::size_t node) {
  const auto side_of = [&](TrainPass pass, std::uint8_t otherwise) {
    const PlacedUnit* unit = graph.find({node, pass});
    if (unit == nullptr) return otherwise;
    return sides[static_cast<std::size_t>(unit - graph.units.data())];
  };
  const std::uint8_t ahead = side_of(TrainPass::forward, 0);
  const std::uint8_t moves = side_of(TrainPass::update, ahead);
  const std::uint8_t back = side_of(TrainPass::input_error, moves);
  return {ahead, back, side_of(TrainPass::weight_gradient, back), moves};
}

StepGraph step_graph(const Network& network, const IntegerTape& tape, std::int64_t images) {
  return GraphMaker(network, tape, images).make();
}

}  // namespace nibble::inline placement
