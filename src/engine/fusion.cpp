// SPDX-License-Identifier: Apache-2.0
// Grows groups of nodes that run as one.
#include "engine/fusion.h"

#include <algorithm>

#include "graph/node_error.h"
#include "nibble/core/error.h"
#include "nibble/fixed/rescale.h"

namespace nibble {
namespace {

constexpr std::int64_t kMost32 = INT32_MAX;

bool is_byte(const Interval& range) {
  return range.is_within(0, 255) || (range.low < 0 && range.high - range.low <= 255);
}

// |x| + half a step stays below 2^31.
bool is_narrow_product(const Interval& product, std::int64_t shift) {
  const std::int64_t half = shift == 0 ? 0 : std::int64_t{1} << (shift - 1);
  return shift <= 30 && product.is_within(-(kMost32 - half), kMost32 - half);
}

}  // namespace

Fusion::Fusion(const Model& model, const std::vector<NodeBounds>& bounds, bool is_on)
    : network_(model.network),
      bounds_(bounds),
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
    FusedGroup group = grow(i);
    groups_[group.last] = group;
  }
}

const FusedGroup* Fusion::group_of(std::size_t last) const {
  return groups_[last] ? &*groups_[last] : nullptr;
}

FusedGroup Fusion::grow(std::size_t first) {
  FusedGroup group{.first = first, .last = first};
  group.low = bounds_[first].value.low;
  group.high = bounds_[first].value.high;
  group.has_wide_sums = !bounds_[first].value.is_within(-kMost32, kMost32);
  const bool is_product = !is<SumPool>(network_.nodes[first].op);
  bool has_relu = false;
  while (is_on_ && readers_[group.last].size() == 1) {
    const std::size_t next = readers_[group.last][0];
    const Op& op = network_.nodes[next].op;
    const bool is_sum = group.rescale == kNoNode && !has_relu;
    if (is<Bias>(op) && is_sum && is_product && group.addend == kNoNode) {
      group.biases.push_back(next);
      group.has_wide_sums |= !bounds_[next].value.is_within(-kMost32, kMost32);
    } else if (is<Flatten>(op) && !is_product &&
               bounds_[first].value == bounds_[group.last].value) {
      // The sums of whole pictures, one pixel each.
    } else if (is<Add>(op) && is_sum && is_product && !group.has_wide_sums &&
               group.addend == kNoNode && takes_add(group, next, group.last)) {
      if (group.addend_rescale != kNoNode) is_absorbed_[group.addend_rescale] = true;
    } else if (is<Relu>(op) && is_product) {
      has_relu = true;
      group.low = std::max<std::int64_t>(group.low, 0);
      group.high = std::max<std::int64_t>(group.high, 0);
    } else if (const auto* rescale = std::get_if<Rescale>(&op);
               rescale != nullptr && group.rescale == kNoNode) {
      group.rescale = next;
      group.low = has_relu ? std::max<std::int64_t>(rescale->low, 0) : rescale->low;
      group.high = rescale->high;
    } else {
      break;
    }
    is_absorbed_[group.last] = true;
    group.last = next;
    if (group.rescale == kNoNode && !has_relu) {
      group.low = bounds_[next].value.low;
      group.high = bounds_[next].value.high;
    }
  }
  group.is_wide = !is_narrow(group);
  if (!bounds_[group.last].value.is_within(-kMost32, kMost32)) {
    fail_node(network_.nodes[group.last], "value", "beyond 32 bits",
              "a rescale that follows at once");
  }
  return group;
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
    if (is_free && is_byte(bounds_[source].value)) {
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
  return is_narrow_product(bounds_[group.rescale].product, rescale.shift);
}

}  // namespace nibble
