// SPDX-License-Identifier: Apache-2.0
// Grows steps along nodes with one reader.
#include "emit/steps.h"

#include <algorithm>

#include "graph/depthwise.h"
#include "graph/node_error.h"
#include "nibble/fixed/rescale.h"

namespace nibble {
namespace {

__extension__ typedef __int128 Wide;
constexpr std::int64_t kMostProduct = std::int64_t{1} << 62;

Interval hull(const Interval& a, const Interval& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

class StepMaker {
 public:
  explicit StepMaker(const NetworkView& view) : view_(view), is_claimed_(view.size()) {}

  std::vector<EmitStep> make() {
    is_claimed_[0] = true;
    // Sums first: they take the rescales of what they are added to.
    start_all([](const Op& op) { return is<Conv2d>(op) || is<Linear>(op) || is<SumPool>(op); });
    start_all([](const Op& op) { return is<Add>(op); });
    start_all([](const Op& op) { return !is<Flatten>(op); });
    if (!is_claimed_[view_.output()]) start(view_.output());
    std::ranges::sort(steps_, {}, &EmitStep::last);
    for (const EmitStep& step : steps_) {
      check_many(step);
      if (!view_.bounds[step.last].value.is_within(-kMaxInteger, kMaxInteger))
        fail_node(view_.node(step.last), "value", "beyond 32 bits",
                  "a rescale that follows at once");
    }
    return std::move(steps_);
  }

 private:
  // Whatever the order, the operands of a long sum stay within 32 bits.
  void check_many(const EmitStep& step) const {
    if (!is_sum_of_many(view_.node(step.first))) return;
    Wide most = 0;
    for (const StepTerm& input : step.inputs) {
      const Interval& range = view_.bounds[input.node].value;
      most += std::max(magnitude_of(range.low), magnitude_of(range.high));
    }
    if (most > kMaxInteger)
      fail_node(view_.node(step.first), "sum of many", "beyond 32 bits", "adds of two");
  }

  template <class Which>
  void start_all(const Which& which) {
    for (std::size_t i = 1; i < view_.size(); ++i) {
      if (!is_claimed_[i] && which(view_.node(i).op)) start(i);
    }
  }

  void start(std::size_t first) {
    step_ = EmitStep();
    step_.first = step_.last = first;
    has_rescale_ = has_relu_ = false;
    is_claimed_[first] = true;
    for (const std::size_t input : view_.node(first).inputs)
      step_.inputs.push_back({.node = input});
    value_ = view_.bounds[first].value;
    step_.finish.sums = hull(value_, view_.bounds[first].partial);
    if (std::visit([&](const auto& op) { return begin(op); }, view_.node(first).op)) grow();
    steps_.push_back(std::move(step_));
  }

  // Whether what follows may join.
  bool begin(const Conv2d& op) {
    step_.padding = op.padding;
    const std::size_t input = view_.node(step_.first).inputs[0];
    if (const auto* pad = std::get_if<Pad>(&view_.node(input).op);
        pad != nullptr && view_.readers[input].size() == 1 && !is_claimed_[input] &&
        pad->before[2] == 0 && pad->after[2] == 0) {
      is_claimed_[input] = true;
      step_.padding = {op.padding.y + pad->before[0], op.padding.x + pad->before[1]};
      step_.inputs[0].node = view_.node(input).inputs[0];
    }
    step_.finish.bias = view_.integers(step_.first, "bias");
    return true;
  }
  bool begin(const Linear&) {
    step_.finish.bias = view_.integers(step_.first, "bias");
    return true;
  }
  bool begin(const SumPool&) { return true; }
  bool begin(const Add&) {
    if (is_sum_of_many(view_.node(step_.first))) return false;
    for (std::size_t k = 0; k < 2; ++k)
      step_.inputs[k] = term_of(view_.node(step_.first).inputs[k]);
    step_.finish.sums = step_.inputs[0].range;
    step_.finish.addend = step_.inputs[1];
    return true;
  }
  bool begin(const Bias&) { return begin_point(); }
  bool begin(const Relu&) { return begin_point(); }
  bool begin(const Rescale&) { return begin_point(); }
  template <class Other>
  bool begin(const Other&) {
    return false;
  }

  // The node itself is the first that follows its input.
  bool begin_point() {
    value_ = step_.finish.sums = view_.bounds[view_.node(step_.first).inputs[0]].value;
    return takes(step_.first);
  }

  void grow() {
    for (;;) {
      const std::size_t next = free_reader(step_.last);
      if (next == kNoNode || !takes(next)) return;
      is_claimed_[next] = true;
      step_.last = next;
    }
  }

  // The only reader of a node, unless another step has it already.
  std::size_t free_reader(std::size_t node) const {
    if (view_.readers[node].size() != 1) return kNoNode;
    const std::size_t next = view_.readers[node][0];
    return is_claimed_[next] ? kNoNode : next;
  }

  bool takes(std::size_t next) {
    return std::visit([&](const auto& op) { return takes(op, next); }, view_.node(next).op);
  }

  bool is_sum() const { return !has_rescale_ && !has_relu_ && !step_.pool; }
  bool is_point() const { return !is<Conv2d>(op()) && !is<Linear>(op()) && !is<SumPool>(op()); }
  const Op& op() const { return view_.node(step_.first).op; }

  bool takes(const Bias&, std::size_t next) {
    if (!is_sum()) return false;
    const std::vector<std::int64_t> more = view_.integers(next, "bias");
    std::vector<std::int64_t>& bias = step_.finish.bias;
    bias.resize(more.size());
    for (std::size_t c = 0; c < more.size(); ++c) bias[c] += more[c];
    value_ = view_.bounds[next].value;
    return true;
  }

  bool takes(const Relu&, std::size_t) {
    step_.finish.low = std::max<std::int64_t>(step_.finish.low, 0);
    step_.finish.high = std::max<std::int64_t>(step_.finish.high, 0);
    has_relu_ = true;
    return true;
  }

  // Sums below 0 are multiplied as well, although a relu may follow them.
  bool takes(const Rescale& rescale, std::size_t next) {
    if (has_rescale_) return false;
    const std::vector<std::int64_t> multipliers = view_.integers(next, "multiplier");
    if (is_lift(rescale, next)) {
      step_.finish.factor = multipliers[0];
      value_ = view_.bounds[next].value;
      return true;
    }
    const std::int64_t most = std::ranges::max(multipliers);
    if (most > 0 && value_.low < -(kMostProduct / most)) return false;
    step_.finish.multipliers = multipliers;
    step_.finish.shift = rescale.shift;
    step_.finish.low =
        has_relu_ ? std::clamp<std::int64_t>(0, rescale.low, rescale.high) : rescale.low;
    step_.finish.high = rescale.high;
    has_rescale_ = true;
    return true;
  }

  // A factor that brings sums to the unit of the bias that follows.
  bool is_lift(const Rescale& rescale, std::size_t next) const {
    const std::size_t reader = free_reader(next);
    return is_sum() && step_.finish.bias.empty() && !step_.finish.addend.is_given() &&
           step_.finish.factor == 1 && rescale.shift == 0 && !rescale.is_per_channel &&
           is_never_clamped(rescale, next) && reader != kNoNode && is<Bias>(view_.node(reader).op);
  }

  bool is_never_clamped(const Rescale& rescale, std::size_t node) const {
    const Interval& product = view_.bounds[node].product;
    const auto shift = static_cast<int>(rescale.shift);
    return rounded_shift(product.low, shift) >= rescale.low &&
           rounded_shift(product.high, shift) <= rescale.high;
  }

  bool takes(const Add&, std::size_t next) {
    const std::vector<std::size_t>& inputs = view_.node(next).inputs;
    if (!is_sum() || is_point() || step_.finish.addend.is_given() || inputs.size() != 2 ||
        inputs[0] == inputs[1]) {
      return false;
    }
    step_.finish.addend = term_of(inputs[inputs[0] == step_.last ? 1 : 0]);
    value_ = view_.bounds[next].value;
    return true;
  }

  // A stored value with the rescale that only this sum reads.
  StepTerm term_of(std::size_t operand) {
    const auto* rescale = std::get_if<Rescale>(&view_.node(operand).op);
    if (rescale == nullptr || is_claimed_[operand] || view_.readers[operand].size() != 1 ||
        !is_never_clamped(*rescale, operand)) {
      return {.node = operand, .range = view_.bounds[operand].value};
    }
    is_claimed_[operand] = true;
    return {.node = view_.node(operand).inputs[0],
            .multipliers = view_.integers(operand, "multiplier"),
            .shift = rescale->shift,
            .range = view_.bounds[operand].value};
  }

  // All that follows a sum is monotone, so that it may as well follow the largest of several.
  // Windows that overlap would mean computing sums again.
  bool takes(const MaxPool& pool, std::size_t) {
    const auto* conv = std::get_if<Conv2d>(&op());
    if (conv == nullptr || step_.pool ||
        is_depthwise(*conv, view_.picture(step_.inputs[0].node).channels) ||
        pool.kernel.y > pool.stride.y || pool.kernel.x > pool.stride.x) {
      return false;
    }
    step_.pool = pool;
    return true;
  }

  // One pixel is its vector.
  bool takes(const Flatten&, std::size_t next) {
    return view_.picture(view_.node(next).inputs[0]).pixels() == 1;
  }

  template <class Other>
  bool takes(const Other&, std::size_t) {
    return false;
  }

  const NetworkView& view_;
  std::vector<bool> is_claimed_;
  std::vector<EmitStep> steps_;
  EmitStep step_;   // being grown
  Interval value_;  // of its sum, before a relu
  bool has_rescale_ = false;
  bool has_relu_ = false;
};

}  // namespace

Interval StepFinish::reach() const {
  Wide least = std::min<Wide>(sums.low, 0) * factor + std::min<Wide>(addend.range.low, 0);
  Wide most = std::max<Wide>(sums.high, 0) * factor + std::max<Wide>(addend.range.high, 0);
  if (!bias.empty()) {
    least += std::min<Wide>(std::ranges::min(bias), 0);
    most += std::max<Wide>(std::ranges::max(bias), 0);
  }
  return {static_cast<std::int64_t>(std::max<Wide>(least, -kMostProduct)),
          static_cast<std::int64_t>(std::min<Wide>(most, kMostProduct))};
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

}  // namespace nibble
