// SPDX-License-Identifier: Apache-2.0
// Plans a training step: buffers, their lives, and the ways of errors.
#include "emit/train_plan.h"

#include <algorithm>

#include "core/checked.h"
#include "graph/model_parts.h"

namespace nibble::inline emit {
namespace {

// Moments: node i runs forward at i, the loss at answer + 1, node i back at 2·(answer + 1) - i.
class Planner {
 public:
  Planner(const Network& network, std::int64_t batch) : network_(network), batch_(batch) {
    plan_.answer = output_of(network);
    for (const Shape& shape : infer_shapes(network)) plan_.pictures.push_back(picture_of(shape));
    plan_.layers.resize(plan_.answer + 1);
    readers_.resize(network.nodes.size());
    wants_error_.resize(plan_.answer + 1);
    for (std::size_t i = 1; i <= plan_.answer; ++i) {
      wants_error_[i] = is_product(op(i)) || is<Bias>(op(i));
      for (const std::size_t input : network.nodes[i].inputs) {
        readers_[input].push_back(i);
        if (wants_error_[input]) wants_error_[i] = true;
      }
    }
  }

  TrainPlan plan() {
    for (std::size_t i = 1; i <= plan_.answer; ++i) plan_value(i);
    use(plan_.layers[plan_.answer].value, loss_time());
    plan_.layers[plan_.answer].error = new_buffer(elements(plan_.answer), loss_time());
    for (std::size_t i = plan_.answer; i > 0; --i) plan_back(i);
    plan_points();
    plan_.memory = plan_arena(plan_.buffers, 1);
    return std::move(plan_);
  }

 private:
  const Op& op(std::size_t node) const { return network_.nodes[node].op; }
  std::size_t loss_time() const { return plan_.answer + 1; }
  std::size_t back_time(std::size_t node) const { return 2 * loss_time() - node; }
  std::int64_t elements(std::size_t node) const {
    return checked_product(batch_, plan_.pictures[node].elements());
  }

  std::size_t new_buffer(std::int64_t bytes, std::size_t time) {
    plan_.buffers.push_back(
        {.bytes = static_cast<std::size_t>(bytes), .first = time, .last = time});
    return plan_.buffers.size() - 1;
  }
  void use(const std::optional<std::size_t>& buffer, std::size_t time) {
    if (buffer) plan_.buffers[*buffer].last = std::max(plan_.buffers[*buffer].last, time);
  }

  // A flattened value is its input; a dropout works on it, if nobody else reads it. What a relu
  // needs to know of its output stays: errors of features that were dropped are zero already.
  bool is_alias(std::size_t node) const {
    if (!is<Dropout>(op(node))) return is<Flatten>(op(node));
    const std::size_t input = network_.nodes[node].inputs[0];
    return has_one_reader(input) && maker(input) != 0;
  }
  std::size_t maker(std::size_t node) const {
    return is_alias(node) ? maker(network_.nodes[node].inputs[0]) : node;
  }
  bool has_one_reader(std::size_t node) const {
    return readers_[node].size() == 1 &&
           (!is_alias(node) || has_one_reader(network_.nodes[node].inputs[0]));
  }
  // Whether a layer with weights reads it, flattened or not, and so keeps it for its gradient.
  bool is_kept(std::size_t node) const {
    return std::ranges::any_of(readers_[node], [&](std::size_t reader) {
      return is_product(op(reader)) || (is_alias(reader) && is_kept(reader));
    });
  }

  void plan_value(std::size_t node) {
    TrainLayer& layer = plan_.layers[node];
    const std::size_t input = network_.nodes[node].inputs[0];
    const std::optional<std::size_t> source = plan_.layers[input].value;
    const bool is_in_place = is_rectifier(op(node)) && source && has_one_reader(input) &&
                             !is_rectifier(op(maker(input)));
    layer.value = is_alias(node) || is_in_place ? source : new_buffer(elements(node), node);
    use(layer.value, node);
    for (const std::size_t each : network_.nodes[node].inputs) {
      use(plan_.layers[each].value, is_product(op(node)) ? back_time(node) : node);
    }
    if (!wants_error_[node]) return;
    if (is_rectifier(op(node))) {
      if (is_kept(node)) {
        use(layer.value, back_time(node));
      } else {
        set_marks(node, 0);
      }
    } else if (const auto* pool = std::get_if<MaxPool>(&op(node))) {
      const std::int64_t taps = pool->kernel.y * pool->kernel.x;
      set_marks(node, taps <= 2 ? 0 : taps <= 4 ? 1 : taps <= 16 ? 2 : 3);
    }
  }

  void set_marks(std::size_t node, int log) {
    TrainLayer& layer = plan_.layers[node];
    layer.mark_log = log;
    layer.marks = new_buffer(((elements(node) << log) + 7) / 8, node);
    use(layer.marks, back_time(node));
  }

  void plan_back(std::size_t node) {
    TrainLayer& layer = plan_.layers[node];
    if (!wants_error_[node]) layer.error.reset();
    if (!layer.error) return;
    const std::size_t time = back_time(node);
    use(layer.error, time);
    const bool moves =
        is_product(op(node)) || is<MaxPool>(op(node)) || is_average(op(node)) || is_box(op(node));
    bool is_taken = moves;  // whether the layer's own error is of no use to a further input
    for (const std::size_t input : network_.nodes[node].inputs) {
      ErrorRoute route{.is_wanted = wants_error_[input], .buffer = *layer.error, .joins = {}};
      if (route.is_wanted) {
        std::optional<std::size_t>& there = plan_.layers[input].error;
        route.joins = there;
        if (moves || (is_taken && !there)) route.buffer = new_buffer(elements(input), time);
        if (!there) {
          there = route.buffer;
          is_taken = true;
        }
        use(there, time);
      }
      layer.routes.push_back(route);
    }
  }

  void plan_points() {
    for (std::size_t i = 1; i <= plan_.answer; ++i) {
      if (plan_.rounds_value(network_, i)) plan_.layers[i].value_point = plan_.points++;
      if (plan_.rounds_error(network_, i)) plan_.layers[i].error_point = plan_.points++;
    }
  }

  const Network& network_;
  std::int64_t batch_;
  TrainPlan plan_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<bool> wants_error_;  // something up to here is trained
};

}  // namespace

bool is_rectifier(const Op& op) {
  return is<Relu>(op) || is<Relu6>(op);
}

bool is_average(const Op& op) {
  return is<AveragePool>(op) || is<GlobalAveragePool>(op);
}

bool is_box(const Op& op) {
  return is<Slice>(op) || is<Pad>(op);
}

bool TrainPlan::sends_errors() const {
  return std::ranges::any_of(layers, [](const TrainLayer& layer) {
    return std::ranges::any_of(layer.routes, &ErrorRoute::is_wanted);
  });
}

bool TrainPlan::rounds_value(const Network& network, std::size_t node) const {
  return is_product(network.nodes[node].op) || is_average(network.nodes[node].op);
}

bool TrainPlan::rounds_error(const Network& network, std::size_t node) const {
  const Op& op = network.nodes[node].op;
  const std::vector<ErrorRoute>& routes = layers[node].routes;
  return (is_product(op) || is_average(op) || is<MaxPool>(op)) && !routes.empty() &&
         routes[0].is_wanted;
}

TrainPlan plan_training(const Network& network, std::int64_t batch) {
  return Planner(network, batch).plan();
}

}  // namespace nibble::inline emit
