// SPDX-License-Identifier: Apache-2.0
// Which nodes of an integer network run as one: a product with the bias, residual add, relu and
// rescale behind it and the largest of its windows, a sum pool with its rescale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "nibble/graph/integer_bounds.h"
#include "nibble/graph/network.h"

namespace nibble {

inline constexpr std::size_t kNoNode = SIZE_MAX;

// y = clamp(R((first + bias nodes + R(addend·f, t))·m, s), low, high)
struct FusedGroup {
  std::size_t first = 0;                 // the conv2d, linear or sum_pool
  std::size_t last = 0;                  // whose value the group gives
  std::vector<std::size_t> biases = {};  // nodes
  std::size_t add = kNoNode;             // the add node, if any
  std::size_t addend = kNoNode;          // the node whose stored value is added
  std::size_t addend_rescale = kNoNode;  // its rescale, if any
  std::size_t rescale = kNoNode;
  std::size_t pooled = kNoNode;  // the node whose value a max pool, then the last, takes
  bool pools_sums = false;       // before they are rescaled
  Interval product = {};         // of what is rescaled, times its multiplier
  std::int64_t low = 0;
  std::int64_t high = 0;
  bool is_wide = true;         // products and sums need 64 bits
  bool has_wide_sums = false;  // even the sums before them
};

// Whether 32 bits hold a product and half a step of the shift.
bool is_narrow_product(const Interval& product, std::int64_t shift);

class Fusion {
 public:
  // `is_on` false: every node is a group of its own.
  Fusion(const Model& model, const std::vector<NodeBounds>& bounds, bool is_on);

  // The group that ends with this node; null: the node is absorbed, or no group begins there.
  const FusedGroup* group_of(std::size_t last) const;
  bool is_absorbed(std::size_t node) const { return is_absorbed_[node]; }
  const std::vector<std::vector<std::size_t>>& readers() const { return readers_; }

 private:
  std::size_t free_reader(std::size_t node) const;
  FusedGroup started(std::size_t first) const;
  FusedGroup grow(std::size_t first);
  FusedGroup grow_pool(std::size_t first);
  bool takes_rescale(FusedGroup& group, std::size_t rescale, const Interval& sum) const;
  bool takes_add(FusedGroup& group, std::size_t add, std::size_t sum) const;
  bool takes_pool(FusedGroup& group, std::size_t node) const;
  bool is_narrow(const FusedGroup& group) const;

  const Model& model_;
  const Network& network_;
  const std::vector<NodeBounds>& bounds_;
  std::vector<Shape> shapes_;
  std::vector<Parameter> parameters_;
  bool is_on_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<bool> is_absorbed_;
  std::vector<std::optional<FusedGroup>> groups_;  // by last node
};

}  // namespace nibble
