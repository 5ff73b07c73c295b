// SPDX-License-Identifier: Apache-2.0
// Grows groups of nodes that run as one.
#include "engine/fusion.h"

#include <algorithm>

#include "graph/integer_parameters.h"
#include "graph/node_error.h"
#include "nibble/core/error.h"
#include "nibble/fixed/rescale.h"
#include "nibble/kernels/filter8.h"

namespace nibble {
namespace {

constexpr std::int64_t kMost32 = INT32_MAX;
// Outputs of a picture from which on pooling them at once does not mean reading weights more often.
constexpr std::int64_t kLeastPooled = 256;
constexpr std::int64_t kMostPooledDepth = 128;  // of products whose sums are pooled

bool is_byte(const Interval& range) {
  return range.is_within(-255, 255) && range.high - std::min<std::int64_t>(range.low, 0) <= 255;
}

}  // namespace

// |x| + half a step stays below 2^31.
bool is_narrow_product(const Interval& product, std::int64_t shift) {
  const std::int64_t half = shift == 0 ? 0 : std::int64_t{1} << (shift - 1);
  return shift <= 30 && product.is_within(-(kMost32 - half), kMost32 - half);
}

Fusion::Fusion(const Model& model, const std::vector<NodeBounds>& bounds, bool is_on)
    : model_(model),
      network_(model.network),
      bounds_(bounds),
      shapes_(infer_shapes(network_)),
      parameters_(parameters_of(network_)),
      is_on_(is_on),
      readers_(network_.nodes.size()),
      is_absorbed_(network_.nodes.size()),
      groups_(network_.nodes.size()) {
  for (std::size_t i = 0; i < network_.nodes.size(); ++i) {
    for (const std::size_t input : network_.nodes[i].inputs) readers_[input].push_back(i);
  }
  for (std::size_t i = 0; i < network_.nodes.size(); ++i) {
    const Op& op = network_.nodes[i].op;
    if (!is<Conv2d>(op) && !is<Linear>(op) && !is<SumPool>(op)) continue;
    FusedGroup group = is<SumPool>(op) ? grow_pool(i) : grow(i);
    group.is_wide = !is_narrow(group);
    groups_[group.last] = group;
  }
  for (std::size_t i = 0; i < network_.nodes.size(); ++i) {
    if (is_absorbed_[i] || bounds_[i].value.is_within(-kMost32, kMost32)) continue;
    fail_node(network_.nodes[i], "value", "beyond 32 bits", "a rescale that follows at once");
  }
}

const FusedGroup* Fusion::group_of(std::size_t last) const {
  return groups_[last] ? &*groups_[last] : nullptr;
}

// The only reader of a node, unless another group has it already.
std::size_t Fusion::free_reader(std::size_t node) const {
  if (!is_on_ || readers_[node].size() != 1) return kNoNode;
  const std::size_t next = readers_[node][0];
  return is_absorbed_[next] || groups_[next] ? kNoNode : next;
}

FusedGroup Fusion::started(std::size_t first) const {
  const Interval& value = bounds_[first].value;
  return {.first = first,
          .last = first,
          .low = value.low,
          .high = value.high,
          .has_wide_sums = !value.is_within(-kMost32, kMost32)};
}

// A sum pool with the rescale that follows, over a flatten of single pixels or not.
FusedGroup Fusion::grow_pool(std::size_t first) {
  FusedGroup group = started(first);
  std::size_t flatten = kNoNode;
  std::size_t next = free_reader(first);
  if (next != kNoNode && is<Flatten>(network_.nodes[next].op) &&
      shapes_[first].elements() == shapes_[first][2]) {
    flatten = next;
    next = free_reader(next);
  }
  if (next == kNoNode) return group;
  const auto* rescale = std::get_if<Rescale>(&network_.nodes[next].op);
  if (rescale == nullptr) return group;
  is_absorbed_[first] = true;
  if (flatten != kNoNode) is_absorbed_[flatten] = true;
  group.last = group.rescale = next;
  group.product = bounds_[next].product;
  group.low = rescale->low;
  group.high = rescale->high;
  return group;
}

FusedGroup Fusion::grow(std::size_t first) {
  FusedGroup group = started(first);
  const bool takes_bytes = is_byte(bounds_[network_.nodes[first].inputs[0]].value);
  bool has_relu = false;
  Interval sum = bounds_[first].value;  // before a relu
  for (;;) {
    const std::size_t next = free_reader(group.last);
    if (next == kNoNode) break;
    const Op& op = network_.nodes[next].op;
    const bool is_sum = group.rescale == kNoNode && !has_relu;
    if (is<Bias>(op) && is_sum && group.addend == kNoNode) {
      group.biases.push_back(next);
      group.has_wide_sums |= !bounds_[next].value.is_within(-kMost32, kMost32);
    } else if (is<Add>(op) && is_sum && takes_bytes && !group.has_wide_sums &&
               group.addend == kNoNode && takes_add(group, next, group.last)) {
      group.add = next;
      if (group.addend_rescale != kNoNode) is_absorbed_[group.addend_rescale] = true;
    } else if (is<Relu>(op)) {
      has_relu = true;
      group.low = std::max<std::int64_t>(group.low, 0);
      group.high = std::max<std::int64_t>(group.high, 0);
    } else if (const auto* rescale = std::get_if<Rescale>(&op);
               rescale != nullptr && group.rescale == kNoNode && takes_rescale(group, next, sum)) {
      group.rescale = next;
      group.high = rescale->high;
      group.low =
          has_relu ? std::clamp<std::int64_t>(0, rescale->low, rescale->high) : rescale->low;
    } else {
      break;
    }
    is_absorbed_[group.last] = true;
    group.last = next;
    if (group.rescale == kNoNode && !has_relu) {
      sum = bounds_[next].value;
      group.low = sum.low;
      group.high = sum.high;
    }
  }
  if (const std::size_t next = free_reader(group.last);
      next != kNoNode && takes_bytes && takes_pool(group, next)) {
    is_absorbed_[group.last] = true;
    group.pooled = group.last;
    group.last = next;
  }
  return group;
}

// Windows that overlap are pooled by themselves: that is faster. Those of up to four outputs are
// pooled as sums, which leaves fewer to rescale; of deep products that would cost more than it
// saves.
bool Fusion::takes_pool(FusedGroup& group, std::size_t node) const {
  const auto* conv = std::get_if<Conv2d>(&network_.nodes[group.first].op);
  const auto* pool = std::get_if<MaxPool>(&network_.nodes[node].op);
  if (conv == nullptr || pool == nullptr || conv->groups > 1 || group.has_wide_sums ||
      !is_byte(bounds_[group.last].value)) {
    return false;
  }
  const std::int64_t depth =
      conv->kernel.y * conv->kernel.x * shapes_[network_.nodes[group.first].inputs[0]][2];
  if (pool->kernel.y > pool->stride.y) return false;
  group.pools_sums = pool->kernel == pool->stride && pool->padding == Extent2{0, 0} &&
                     pool->kernel.y * pool->kernel.x <= 4 && group.addend == kNoNode &&
                     depth <= kMostPooledDepth;
  const Shape& shape = shapes_[group.first];
  return group.pools_sums || shape[0] * shape[1] >= kLeastPooled;
}

// In one pass sums below 0 are multiplied as well, although a relu follows them.
bool Fusion::takes_rescale(FusedGroup& group, std::size_t rescale, const Interval& sum) const {
  group.product = bounds_[rescale].product;
  if (sum.low >= bounds_[network_.nodes[rescale].inputs[0]].value.low) return true;  // no relu
  const std::size_t p = find_parameter(parameters_, rescale, "multiplier");
  const std::int64_t most = std::ranges::max(integers_of(parameters_[p], model_.parameters[p]));
  if (most > 0 && sum.low < -(std::int64_t{1} << 62) / most) return false;
  group.product.low = std::min(group.product.low, sum.low * most);
  return true;
}

// Whether the other operand of an add is, or comes at once from, a value of one byte.
bool Fusion::takes_add(FusedGroup& group, std::size_t add, std::size_t sum) const {
  const Node& node = network_.nodes[add];
  if (node.inputs.size() != 2 || node.inputs[0] == node.inputs[1]) return false;
  const std::size_t other = node.inputs[node.inputs[0] == sum ? 1 : 0];
  if (const auto* rescale = std::get_if<Rescale>(&network_.nodes[other].op);
      rescale != nullptr && readers_[other].size() == 1) {
    const std::size_t source = network_.nodes[other].inputs[0];
    const Interval& product = bounds_[other].product;
    const auto shift = static_cast<int>(rescale->shift);
    const bool is_free = rounded_shift(product.low, shift) >= rescale->low &&
                         rounded_shift(product.high, shift) <= rescale->high;  // never clamped
    if (is_free && is_byte(bounds_[source].value) && !is_absorbed_[source]) {
      group.addend = source;
      group.addend_rescale = other;
      return true;
    }
  }
  if (!is_byte(bounds_[other].value)) return false;
  group.addend = other;
  return true;
}

bool Fusion::is_narrow(const FusedGroup& group) const {
  if (group.has_wide_sums) return false;
  if (group.addend_rescale != kNoNode) {
    const auto& rescale = std::get<Rescale>(network_.nodes[group.addend_rescale].op);
    if (!is_narrow_product(bounds_[group.addend_rescale].product, rescale.shift)) return false;
  }
  if (group.rescale == kNoNode) return true;
  const auto& rescale = std::get<Rescale>(network_.nodes[group.rescale].op);
  return is_narrow_product(group.product, rescale.shift);
}

}  // namespace nibble
