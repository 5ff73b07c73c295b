// SPDX-License-Identifier: Apache-2.0
// Groups of the network with their numbers.
#include "emit/steps.h"

#include <algorithm>

#include "graph/node_error.h"
#include "laws/rescale.h"
#include "laws/wide_division.h"

namespace nibble::inline emit {
namespace {

constexpr std::int64_t kMostProduct = std::int64_t{1} << 62;

class StepMaker {
 public:
  explicit StepMaker(const NetworkView& view) : view_(view) {}

  std::vector<EmitStep> make() const {
    const Fusion fusion(view_.model, view_.bounds, FusionStyle::for_code);
    std::vector<EmitStep> steps;
    for (std::size_t i = 1; i < view_.size(); ++i) {
      if (const FusedGroup* group = fusion.group_of(i)) {
        steps.push_back(step_of(*group));
      } else if (!fusion.is_absorbed(i) &&
                 (!is<Flatten>(view_.node(i).op) || i == view_.output())) {
        steps.push_back(started(i));
        check_many(steps.back());
      }
    }
    return steps;
  }

 private:
  // A node by itself.
  EmitStep started(std::size_t node) const {
    EmitStep step;
    step.first = step.last = node;
    for (const std::size_t input : view_.node(node).inputs) step.inputs.push_back({.node = input});
    step.finish.sums = view_.bounds[node].value.joined_with(view_.bounds[node].partial);
    return step;
  }

  EmitStep step_of(const FusedGroup& group) const {
    EmitStep step = started(group.first);
    step.last = group.last;
    StepFinish& finish = step.finish;
    if (const auto* conv = std::get_if<Conv2d>(&op(group.first))) step.padding = conv->padding;
    if (group.pad != kNoNode) {
      const auto& pad = std::get<Pad>(op(group.pad));
      step.padding = {step.padding.y + pad.before[0], step.padding.x + pad.before[1]};
      step.inputs[0].node = view_.node(group.pad).inputs[0];
    }
    if (group.addend.is_given()) finish.addend = term_of(group.addend);
    if (group.operand.is_given()) {
      step.inputs = {term_of(group.operand), finish.addend};
      finish.sums = step.inputs[0].range;
    } else if (is_point(op(group.first))) {
      finish.sums = view_.bounds[step.inputs[0].node].value;
    }
    if (group.lift != kNoNode) finish.factor = view_.integers(group.lift, "multiplier")[0];
    finish.bias = bias_of(group);
    set_clamp(finish, group);
    if (group.pool != kNoNode) step.pool = std::get<MaxPool>(op(group.pool));
    return step;
  }

  const Op& op(std::size_t node) const { return view_.node(node).op; }
  static bool is_point(const Op& op) { return is<Bias>(op) || is<Relu>(op) || is<Rescale>(op); }

  StepTerm term_of(const FusedTerm& term) const {
    if (term.rescale == kNoNode) return {.node = term.node, .range = view_.bounds[term.node].value};
    return {.node = term.node,
            .multipliers = view_.integers(term.rescale, "multiplier"),
            .shift = std::get<Rescale>(op(term.rescale)).shift,
            .range = view_.bounds[term.rescale].value};
  }

  // The product's own and those of nodes.
  std::vector<std::int64_t> bias_of(const FusedGroup& group) const {
    std::vector<std::int64_t> bias;
    if (!is_point(op(group.first))) bias = view_.integers(group.first, "bias");
    for (const std::size_t node : group.biases) {
      const std::vector<std::int64_t> more = view_.integers(node, "bias");
      bias.resize(more.size());
      for (std::size_t c = 0; c < more.size(); ++c) bias[c] += more[c];
    }
    return bias;
  }

  void set_clamp(StepFinish& finish, const FusedGroup& group) const {
    if (group.rescale == kNoNode) {
      if (group.has_relu) finish.low = 0;
      return;
    }
    finish.multipliers = view_.integers(group.rescale, "multiplier");
    finish.shift = std::get<Rescale>(op(group.rescale)).shift;
    finish.low = group.low;
    finish.high = group.high;
  }

  // Whatever the order, the operands of a long sum stay within 32 bits.
  void check_many(const EmitStep& step) const {
    if (!is_sum_of_many(view_.node(step.first))) return;
    Int128 most = 0;
    for (const StepTerm& input : step.inputs) {
      const Interval& range = view_.bounds[input.node].value;
      most += std::max(magnitude_of(range.low), magnitude_of(range.high));
    }
    if (most > kMaxInteger)
      fail_node(view_.node(step.first), "sum of many", "beyond 32 bits", "adds of two");
  }

  const NetworkView& view_;
};

}  // namespace

Interval StepFinish::reach() const {
  Int128 least = std::min<Int128>(sums.low, 0) * factor + std::min<Int128>(addend.range.low, 0);
  Int128 most = std::max<Int128>(sums.high, 0) * factor + std::max<Int128>(addend.range.high, 0);
  if (!bias.empty()) {
    least += std::min<Int128>(std::ranges::min(bias), 0);
    most += std::max<Int128>(std::ranges::max(bias), 0);
  }
  return {static_cast<std::int64_t>(std::max<Int128>(least, -kMostProduct)),
          static_cast<std::int64_t>(std::min<Int128>(most, kMostProduct))};
}

std::vector<std::size_t> EmitStep::reads() const {
  std::vector<std::size_t> nodes;
  for (const StepTerm& input : inputs) nodes.push_back(input.node);
  if (finish.addend.is_given()) nodes.push_back(finish.addend.node);
  return nodes;
}

std::vector<EmitStep> make_steps(const NetworkView& view) {
  return StepMaker(view).make();
}

}  // namespace nibble::inline emit
