// SPDX-License-Identifier: Apache-2.0
// Which nodes of an integer network run as one: a sum with the bias, residual add, relu and rescale
// behind it and the largest of its windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "nibble/graph/integer_bounds.h"
#include "nibble/graph/network.h"

namespace nibble::inline graph {

inline constexpr std::size_t kNoNode = SIZE_MAX;

// What runs the groups, and so what may join one:
//
//                            | for_bytes                     | for_code
// groups begin at            | conv2d, linear, sum_pool      | these, add, bias, relu, rescale
// pad before a conv2d        | stays                         | joins, unless it pads channels
// whole factor before biases | stays                         | joins
// addend                     | a byte, of products of bytes  | anything
// bias behind the addend     | stays                         | joins
// behind a sum_pool          | a rescale                     | all that follows products
// flatten of one pixel       | between sum_pool and rescale  | joins
// max_pool of a conv2d       | last, where that is faster    | where windows do not overlap
enum class FusionStyle : std::uint8_t {
  apart,      // every node by itself
  for_bytes,  // kernels that are there already: the engine's
  for_code,   // code that is written for the network
};

// A stored value that is added, R(value·f, t) where it has a rescale.
struct FusedTerm {
  std::size_t node = kNoNode;
  std::size_t rescale = kNoNode;
  bool is_given() const { return node != kNoNode; }
};

// y = clamp(R((factor·first + biases + R(addend·f, t))·m, s), low, high), or the largest of windows
// of y. Nodes that are not there are kNoNode.
struct FusedGroup {
  std::size_t first = 0;                 // says what is done
  std::size_t last = 0;                  // whose value the group gives
  std::size_t pad = kNoNode;             // whose zeros the conv2d adds itself
  FusedTerm operand = {};                // of a group that begins at an add: what the addend meets
  std::size_t lift = kNoNode;            // the rescale that is a factor
  std::vector<std::size_t> biases = {};  // nodes
  std::size_t add = kNoNode;             // the add node
  FusedTerm addend = {};
  bool has_relu = false;
  std::size_t rescale = kNoNode;
  std::size_t pool = kNoNode;    // the max pool
  std::size_t pooled = kNoNode;  // the node whose value it takes
  bool pools_sums = false;       // before they are rescaled
  Interval sum = {};             // before a relu
  Interval product = {};         // of what is rescaled, times its multiplier
  std::int64_t low = 0;          // without a rescale: the bounds of what is clamped
  std::int64_t high = 0;
  bool is_wide = true;         // products and sums need 64 bits
  bool has_wide_sums = false;  // even the sums before them
};

// Whether 32 bits hold a product and half a step of the shift.
bool is_narrow_product(const Interval& product, std::int64_t shift);

// A convolution of one channel to one; `channels` are those of its input.
inline bool is_depthwise(const Conv2d& conv, std::int64_t channels) {
  return conv.groups > 1 && conv.groups == channels && conv.channels == channels;
}

class Fusion {
 public:
  // All must outlive it. Throws, naming the node, where a value that is stored needs more than 32
  // bits; what enters is not looked at.
  Fusion(const Model& model, const std::vector<NodeBounds>& bounds, FusionStyle style);

  // The group that ends with this node; null: the node is absorbed, or no group begins there.
  const FusedGroup* group_of(std::size_t last) const;

  // Whether the node's value is stored nowhere.
  bool is_absorbed(std::size_t node) const { return is_claimed_[node] && !groups_[node]; }

  const std::vector<std::vector<std::size_t>>& readers() const { return readers_; }

 private:
  template <class... Operations>
  void start_all();
  void start(std::size_t first);
  FusedGroup started(std::size_t first);
  std::size_t free_reader(std::size_t node) const;

  void grow(FusedGroup& group);
  void grow_mean(FusedGroup& group);
  bool takes(FusedGroup& group, std::size_t next);
  bool takes_bias(FusedGroup& group, std::size_t next);
  bool takes_add(FusedGroup& group, std::size_t add);
  bool takes_rescale(FusedGroup& group, std::size_t next);
  bool is_flatten_of_pixel(std::size_t node) const;
  bool takes_pool(FusedGroup& group, std::size_t next) const;
  bool takes_last_pool(FusedGroup& group, std::size_t next) const;
  void set_sum(FusedGroup& group, std::size_t node);

  bool is_lift(const FusedGroup& group, std::size_t next) const;
  bool is_never_clamped(std::size_t rescale) const;
  std::optional<FusedTerm> term_of(std::size_t operand) const;
  void claim_rescale(const FusedTerm& term);
  bool may_be_added(std::size_t node) const;
  bool takes_bytes(const FusedGroup& group) const;
  bool is_narrow(const FusedGroup& group) const;
  void check_stored() const;

  const Op& op(std::size_t node) const { return network_.nodes[node].op; }
  bool is_for_code() const { return style_ == FusionStyle::for_code; }

  const Model& model_;
  const Network& network_;
  const std::vector<NodeBounds>& bounds_;
  const FusionStyle style_;
  std::vector<Shape> shapes_;
  std::vector<Parameter> parameters_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<bool> is_claimed_;                   // by node: a group has it
  std::vector<std::optional<FusedGroup>> groups_;  // by last node
};

}  // namespace nibble::inline graph
