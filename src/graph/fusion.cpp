// SPDX-License-Identifier: Apache-2.0
// Grows groups of nodes that run as one, along values with one reader.
#include "graph/fusion.h"

#include <algorithm>

#include "graph/model_parts.h"
#include "graph/node_error.h"
#include "graph/parameters.h"
#include "laws/rescale.h"

namespace nibble::inline graph {
namespace {

constexpr std::int64_t kMost32 = INT32_MAX;
constexpr std::int64_t kMostProduct = std::int64_t{1} << 62;
// Outputs of a picture from which on pooling them at once does not mean reading weights more often.
constexpr std::int64_t kLeastPooled = 256;
constexpr std::int64_t kMostPooledDepth = 128;  // of products whose sums are pooled

bool is_byte(const Interval& range) {
  return range.is_within(-255, 255) && range.high - std::min<std::int64_t>(range.low, 0) <= 255;
}

// A sum comes before all that is not linear.
bool is_still_sum(const FusedGroup& group) {
  return group.rescale == kNoNode && !group.has_relu && group.pool == kNoNode;
}

}  // namespace

// |x| + half a step stays below 2^31.
bool is_narrow_product(const Interval& product, std::int64_t shift) {
  const std::int64_t half = shift == 0 ? 0 : std::int64_t{1} << (shift - 1);
  return shift <= 30 && product.is_within(-(kMost32 - half), kMost32 - half);
}

Fusion::Fusion(const Model& model, const std::vector<NodeBounds>& bounds, FusionStyle style)
    : model_(model),
      network_(model.network),
      bounds_(bounds),
      style_(style),
      shapes_(infer_shapes(network_)),
      parameters_(parameters_of(network_)),
      readers_(network_.nodes.size()),
      is_claimed_(network_.nodes.size()),
      groups_(network_.nodes.size()) {
  for (std::size_t i = 0; i < network_.nodes.size(); ++i) {
    for (const std::size_t input : network_.nodes[i].inputs) readers_[input].push_back(i);
  }
  // Sums first: they take the rescales of what they are added to.
  start_all<Conv2d, Linear, SumPool>();
  if (is_for_code()) {
    start_all<Add>();
    start_all<Bias, Relu, Rescale>();
  }
  check_stored();
}

const FusedGroup* Fusion::group_of(std::size_t last) const {
  return groups_[last] ? &*groups_[last] : nullptr;
}

void Fusion::check_stored() const {
  for (std::size_t i = 1; i < network_.nodes.size(); ++i) {
    if (is_absorbed(i) || is<Flatten>(op(i)) || bounds_[i].value.is_within(-kMost32, kMost32))
      continue;
    fail_node(network_.nodes[i], "value", "beyond 32 bits", "a rescale that follows at once");
  }
}

template <class... Operations>
void Fusion::start_all() {
  for (std::size_t i = 1; i < network_.nodes.size(); ++i) {
    if (!is_claimed_[i] && (is<Operations>(op(i)) || ...)) start(i);
  }
}

void Fusion::start(std::size_t first) {
  if (is<Add>(op(first)) && network_.nodes[first].inputs.size() > 2) return;  // sums of many: alone
  FusedGroup group = started(first);
  if (is<SumPool>(op(first)) && !is_for_code()) {
    grow_mean(group);
  } else {
    grow(group);
  }
  group.is_wide = !is_narrow(group);
  groups_[group.last] = std::move(group);
}

FusedGroup Fusion::started(std::size_t first) {
  is_claimed_[first] = true;
  FusedGroup group{.first = first, .last = first};
  set_sum(group, first);
  group.has_wide_sums = !group.sum.is_within(-kMost32, kMost32);
  const std::vector<std::size_t>& inputs = network_.nodes[first].inputs;
  if (is<Conv2d>(op(first)) && is_for_code()) {
    const auto* pad = std::get_if<Pad>(&op(inputs[0]));
    if (pad != nullptr && readers_[inputs[0]].size() == 1 && !is_claimed_[inputs[0]] &&
        pad->before[2] == 0 && pad->after[2] == 0) {
      group.pad = inputs[0];
      is_claimed_[inputs[0]] = true;
    }
  } else if (is<Add>(op(first))) {
    group.add = first;
    group.operand = *term_of(inputs[0]);
    claim_rescale(group.operand);
    group.addend = *term_of(inputs[1]);
    claim_rescale(group.addend);
  } else if (!is_product(op(first)) && !is<SumPool>(op(first))) {
    // What works on each number is the first that follows its input.
    group.sum = bounds_[inputs[0]].value;
    (void)takes(group, first);
  }
  return group;
}

// The only reader of a node, unless another group has it already.
std::size_t Fusion::free_reader(std::size_t node) const {
  if (style_ == FusionStyle::apart || readers_[node].size() != 1) return kNoNode;
  const std::size_t next = readers_[node][0];
  return is_claimed_[next] ? kNoNode : next;
}

void Fusion::grow(FusedGroup& group) {
  for (;;) {
    const std::size_t next = free_reader(group.last);
    if (next == kNoNode || !takes(group, next)) break;
    is_claimed_[next] = true;
    group.last = next;
  }
  if (is_for_code()) return;
  if (const std::size_t next = free_reader(group.last);
      next != kNoNode && takes_last_pool(group, next)) {
    is_claimed_[next] = true;
    group.pool = next;
    group.pooled = group.last;
    group.last = next;
  }
}

// A sum pool with the rescale that follows, over a flatten of single pixels or not.
void Fusion::grow_mean(FusedGroup& group) {
  std::size_t flatten = kNoNode;
  std::size_t next = free_reader(group.first);
  if (next != kNoNode && is_flatten_of_pixel(next)) {
    flatten = next;
    next = free_reader(next);
  }
  if (next == kNoNode || !is<Rescale>(op(next)) || !takes_rescale(group, next)) return;
  is_claimed_[next] = true;
  if (flatten != kNoNode) is_claimed_[flatten] = true;
  group.last = next;
}

bool Fusion::takes(FusedGroup& group, std::size_t next) {
  const Op& op = network_.nodes[next].op;
  if (is<Bias>(op)) return takes_bias(group, next);
  if (is<Add>(op)) return takes_add(group, next);
  if (is<Rescale>(op)) return takes_rescale(group, next);
  if (is<Flatten>(op)) return is_for_code() && is_flatten_of_pixel(next);
  if (is<MaxPool>(op)) return is_for_code() && takes_pool(group, next);
  if (!is<Relu>(op)) return false;
  group.has_relu = true;
  group.low = std::max<std::int64_t>(group.low, 0);
  group.high = std::max<std::int64_t>(group.high, 0);
  return true;
}

bool Fusion::takes_bias(FusedGroup& group, std::size_t next) {
  if (!is_still_sum(group) || (group.addend.is_given() && !is_for_code())) return false;
  group.biases.push_back(next);
  set_sum(group, next);
  group.has_wide_sums |= !group.sum.is_within(-kMost32, kMost32);
  return true;
}

bool Fusion::takes_add(FusedGroup& group, std::size_t add) {
  const std::vector<std::size_t>& inputs = network_.nodes[add].inputs;
  const bool begins_with_a_sum = is_product(op(group.first)) || is<SumPool>(op(group.first));
  if (!is_still_sum(group) || !begins_with_a_sum || group.addend.is_given() || inputs.size() != 2 ||
      inputs[0] == inputs[1]) {
    return false;
  }
  if (!is_for_code() && (!takes_bytes(group) || group.has_wide_sums)) return false;
  const std::optional<FusedTerm> term = term_of(inputs[inputs[0] == group.last ? 1 : 0]);
  if (!term) return false;
  group.add = add;
  group.addend = *term;
  claim_rescale(group.addend);
  set_sum(group, add);
  return true;
}

// A stored value, or one with the rescale that only this sum reads.
std::optional<FusedTerm> Fusion::term_of(std::size_t operand) const {
  if (is<Rescale>(op(operand)) && !is_claimed_[operand] && readers_[operand].size() == 1 &&
      is_never_clamped(operand)) {
    const std::size_t source = network_.nodes[operand].inputs[0];
    if (may_be_added(source)) return FusedTerm{source, operand};
  }
  if (!may_be_added(operand)) return std::nullopt;
  return FusedTerm{operand, kNoNode};
}

void Fusion::claim_rescale(const FusedTerm& term) {
  if (term.rescale != kNoNode) is_claimed_[term.rescale] = true;
}

bool Fusion::may_be_added(std::size_t node) const {
  return is_for_code() || is_byte(bounds_[node].value);
}

bool Fusion::is_never_clamped(std::size_t rescale) const {
  const auto& op = std::get<Rescale>(network_.nodes[rescale].op);
  const Interval& product = bounds_[rescale].product;
  const auto shift = static_cast<int>(op.shift);
  return rounded_shift(product.low, shift) >= op.low &&
         rounded_shift(product.high, shift) <= op.high;
}

// In one pass sums below 0 are multiplied as well, although a relu follows them.
bool Fusion::takes_rescale(FusedGroup& group, std::size_t next) {
  if (group.rescale != kNoNode) return false;
  if (is_for_code() && is_lift(group, next)) {
    group.lift = next;
    set_sum(group, next);
    return true;
  }
  const auto& rescale = std::get<Rescale>(op(next));
  Interval product = bounds_[next].product;
  if (group.sum.low < bounds_[network_.nodes[next].inputs[0]].value.low) {  // there is a relu
    const std::size_t p = find_parameter(parameters_, next, "multiplier");
    const std::int64_t most = std::ranges::max(integers_of(parameters_[p], model_.parameters[p]));
    if (most > 0 && group.sum.low < -(kMostProduct / most)) return false;
    product.low = std::min(product.low, group.sum.low * most);
  }
  group.rescale = next;
  group.product = product;
  group.low = group.has_relu ? std::clamp<std::int64_t>(0, rescale.low, rescale.high) : rescale.low;
  group.high = rescale.high;
  return true;
}

// A factor that brings sums to the unit of the bias that follows.
bool Fusion::is_lift(const FusedGroup& group, std::size_t next) const {
  const auto& rescale = std::get<Rescale>(op(next));
  const std::size_t reader = free_reader(next);
  const bool has_own_bias = is_product(op(group.first)) &&
                            find_parameter(parameters_, group.first, "bias") != parameters_.size();
  return is_still_sum(group) && !has_own_bias && group.biases.empty() && !group.addend.is_given() &&
         group.lift == kNoNode && rescale.shift == 0 && !rescale.is_per_channel &&
         is_never_clamped(next) && reader != kNoNode && is<Bias>(op(reader));
}

// One pixel is its vector.
bool Fusion::is_flatten_of_pixel(std::size_t node) const {
  if (!is<Flatten>(op(node))) return false;
  const Shape& in = shapes_[network_.nodes[node].inputs[0]];
  return in.elements() == in[in.rank() - 1];
}

// All that follows a sum is monotone, so that it may as well follow the largest of several. Windows
// that overlap would mean computing sums again.
bool Fusion::takes_pool(FusedGroup& group, std::size_t next) const {
  const auto* conv = std::get_if<Conv2d>(&op(group.first));
  const auto& pool = std::get<MaxPool>(op(next));
  if (conv == nullptr || group.pool != kNoNode ||
      is_depthwise(*conv, shapes_[network_.nodes[group.first].inputs[0]][2]) ||
      pool.kernel.y > pool.stride.y || pool.kernel.x > pool.stride.x) {
    return false;
  }
  group.pool = next;
  group.pooled = group.last;
  return true;
}

// Rows of windows that overlap are pooled by themselves: that is faster. Windows of up to four
// outputs are pooled as sums, which leaves fewer to rescale; of deep products that would cost more
// than it saves.
bool Fusion::takes_last_pool(FusedGroup& group, std::size_t next) const {
  const auto* conv = std::get_if<Conv2d>(&op(group.first));
  const auto* pool = std::get_if<MaxPool>(&op(next));
  if (conv == nullptr || pool == nullptr || conv->groups > 1 || !takes_bytes(group) ||
      group.has_wide_sums || !is_byte(bounds_[group.last].value) ||
      pool->kernel.y > pool->stride.y) {
    return false;
  }
  const std::int64_t depth =
      conv->kernel.y * conv->kernel.x * shapes_[network_.nodes[group.first].inputs[0]][2];
  group.pools_sums = pool->kernel == pool->stride && pool->padding == Extent2{0, 0} &&
                     pool->kernel.y * pool->kernel.x <= 4 && !group.addend.is_given() &&
                     depth <= kMostPooledDepth;
  const Shape& shape = shapes_[group.first];
  return group.pools_sums || shape[0] * shape[1] >= kLeastPooled;
}

void Fusion::set_sum(FusedGroup& group, std::size_t node) {
  group.sum = bounds_[node].value;
  group.low = group.sum.low;
  group.high = group.sum.high;
}

bool Fusion::takes_bytes(const FusedGroup& group) const {
  return is_byte(bounds_[network_.nodes[group.first].inputs[0]].value);
}

bool Fusion::is_narrow(const FusedGroup& group) const {
  if (group.has_wide_sums) return false;
  if (const std::size_t own = group.addend.rescale; own != kNoNode) {
    const auto& rescale = std::get<Rescale>(op(own));
    if (!is_narrow_product(bounds_[own].product, rescale.shift)) return false;
  }
  if (group.rescale == kNoNode) return true;
  const auto& rescale = std::get<Rescale>(op(group.rescale));
  return is_narrow_product(group.product, rescale.shift);
}

}  // namespace nibble::inline graph
