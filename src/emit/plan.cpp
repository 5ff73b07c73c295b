// SPDX-License-Identifier: Apache-2.0
// Gives every stored value its place.
#include "emit/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/arena.h"
#include "graph/fusion.h"
#include "graph/node_error.h"

namespace nibble::inline emit {
namespace {

constexpr std::size_t kMostColumn = 80;  // longer names stick out of the table

class PlanMaker {
 public:
  explicit PlanMaker(const NetworkView& view) : view_(view) {
    plan_.steps = make_steps(view);
    plan_.home.resize(view.size());
    plan_.storage.resize(view.size());
    plan_.piece.assign(view.size(), kNoNode);
    plan_.scratch.assign(plan_.steps.size(), kNoNode);
  }

  EmitPlan make() {
    check_sizes();
    find_homes();
    find_last_reads();
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) place(s);
    std::vector<ArenaItem> items;
    for (const ArenaPiece& piece : plan_.pieces)
      items.push_back({.bytes = piece.bytes, .first = piece.first, .last = piece.last});
    plan_.arena_bytes = plan_arena(items, kArenaAlignment);
    for (std::size_t i = 0; i < items.size(); ++i) plan_.pieces[i].offset = items[i].offset;
    return std::move(plan_);
  }

 private:
  // All indices of emitted code are int32_t.
  void check_sizes() const {
    for (std::size_t i = 0; i < view_.size(); ++i) {
      if (view_.shapes[i].elements() <= INT32_MAX) continue;
      fail_node(view_.node(i), "value", view_.shapes[i].to_string(),
                "at most 2^31 - 1 numbers in C");
    }
  }

  void find_homes() {
    std::vector<bool> is_stored(view_.size());
    for (const EmitStep& step : plan_.steps) is_stored[step.last] = true;
    for (std::size_t i = 0; i < view_.size(); ++i) {
      const bool is_alias = is<Flatten>(view_.node(i).op) && !is_stored[i];
      plan_.home[i] = is_alias ? plan_.home[view_.node(i).inputs[0]] : i;
      plan_.storage[i] = i == view_.output() ? Storage{type_of(view_.bounds[i].value)}
                                             : storage_of(view_.bounds[i].value);
      if (is_sum_of_many(view_.node(i))) plan_.storage[i] = {CType::s32};
    }
  }

  void find_last_reads() {
    last_read_.assign(view_.size(), 0);
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      for (const std::size_t node : plan_.steps[s].reads()) last_read_[plan_.home[node]] = s;
    }
    last_read_[view_.output()] = plan_.steps.size() - 1;
  }

  void place(std::size_t s) {
    const EmitStep& step = plan_.steps[s];
    const std::size_t over = overwritten(s);
    if (over != kNoNode) {
      plan_.piece[step.last] = plan_.piece[over];
      ArenaPiece& piece = plan_.pieces[plan_.piece[over]];
      piece.last = last_read_[step.last];
      piece.name += fmt::format(", {}", view_.node(step.last).name);
    } else {
      plan_.piece[step.last] =
          add_piece(view_.node(step.last).name, bytes_of(step.last), s, last_read_[step.last]);
    }
    if (const std::int64_t column = column_bytes(step); column > 0)
      plan_.scratch[s] = add_piece(fmt::format("column of {}", view_.node(step.first).name),
                                   static_cast<std::size_t>(column), s, s);
  }

  std::size_t add_piece(std::string name, std::size_t bytes, std::size_t first, std::size_t last) {
    plan_.pieces.push_back({.name = std::move(name), .bytes = bytes, .first = first, .last = last});
    return plan_.pieces.size() - 1;
  }

  std::size_t bytes_of(std::size_t node) const {
    return static_cast<std::size_t>(view_.shapes[node].elements() *
                                    size_of(plan_.storage[node].type));
  }

  // An operand that the step may write over: read for the last time, element by element, each
  // before its place is written.
  std::size_t overwritten(std::size_t s) const {
    const EmitStep& step = plan_.steps[s];
    const Op& op = view_.node(step.first).op;
    std::vector<std::size_t> candidates;
    if (step.finish.addend.is_given() && !step.pool) candidates.push_back(step.finish.addend.node);
    const bool is_point =
        is<Bias>(op) || is<Relu>(op) || is<Rescale>(op) || (is<Add>(op) && step.inputs.size() == 2);
    if (is_point) candidates.push_back(step.inputs[0].node);
    for (const std::size_t node : candidates) {
      const std::size_t home = plan_.home[node];
      const bool is_read_elsewhere = !is_point && home == plan_.home[step.inputs[0].node];
      if (plan_.piece[home] != kNoNode && last_read_[home] == s && !is_read_elsewhere &&
          bytes_of(home) == bytes_of(step.last) && plan_.pieces[plan_.piece[home]].last == s) {
        return home;
      }
    }
    return kNoNode;
  }

  // Of a convolution that gathers what lies under its kernel.
  std::int64_t column_bytes(const EmitStep& step) const {
    const auto* conv = std::get_if<Conv2d>(&view_.node(step.first).op);
    if (conv == nullptr) return 0;
    const std::size_t input = plan_.home[step.inputs[0].node];
    const std::int64_t channels = view_.picture(step.inputs[0].node).channels;
    if (is_depthwise(*conv, channels) || is_pointwise(view_, step)) return 0;
    return conv->kernel.y * conv->kernel.x * (channels / conv->groups) *
           size_of(plan_.storage[input].type);
  }

  const NetworkView& view_;
  EmitPlan plan_;
  std::vector<std::size_t> last_read_;  // by home: the step
};

}  // namespace

bool is_pointwise(const NetworkView& view, const EmitStep& step) {
  const auto& conv = std::get<Conv2d>(view.node(step.first).op);
  const Picture in = view.picture(step.inputs[0].node);
  const Picture out = view.picture(step.first);
  return conv.kernel == Extent2{1, 1} && conv.groups == 1 && step.padding == Extent2{0, 0} &&
         (out.height - 1) * conv.stride.y < in.height && (out.width - 1) * conv.stride.x < in.width;
}

EmitPlan make_plan(const NetworkView& view) {
  return PlanMaker(view).make();
}

std::size_t largest_step(const EmitPlan& plan) {
  std::vector<std::size_t> come(plan.steps.size());  // bytes that begin to be used at a step
  std::vector<std::size_t> go(plan.steps.size());    // and those of which it is the last
  for (const ArenaPiece& piece : plan.pieces) {
    come[piece.first] += piece.bytes;
    go[piece.last] += piece.bytes;
  }
  std::size_t largest = 0;
  std::size_t needed = 0;
  std::size_t most = 0;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    needed += come[s];
    if (needed > most) {
      most = needed;
      largest = s;
    }
    needed -= go[s];
  }
  return largest;
}

std::vector<ArenaValue> arena_values(const NetworkView& view, const EmitPlan& plan) {
  std::vector<ArenaValue> values;
  for (const ArenaPiece& piece : plan.pieces) {
    values.push_back({.name = piece.name,
                      .offset = static_cast<std::int64_t>(piece.offset),
                      .bytes = static_cast<std::int64_t>(piece.bytes),
                      .first = view.node(plan.steps[piece.first].last).name,
                      .last = view.node(plan.steps[piece.last].last).name});
  }
  return values;
}

std::string plan_text(std::span<const ArenaValue> values) {
  std::size_t width = 5;
  for (const ArenaValue& each : values) width = std::clamp(each.name.size(), width, kMostColumn);
  std::string text =
      fmt::format("{:<{}}  {:>8}  {:>8}  steps\n", "value", width, "offset", "bytes");
  for (const ArenaValue& each : values) {
    text += fmt::format("{:<{}}  {:>8}  {:>8}  {} to {}\n", each.name, width, each.offset,
                        each.bytes, each.first, each.last);
  }
  return text;
}

}  // namespace nibble::inline emit
