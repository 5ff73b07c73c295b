// SPDX-License-Identifier: Apache-2.0
// Where every value of a network lies: how its integers are kept, which values share a place, and
// where in the arena it is.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/place.h"
#include "graph/fusion.h"
#include "nibble/engine/engine.h"
#include "nibble/graph/network.h"

namespace nibble {

// What is known of a network before its values have places. All outlive what is made of it.
struct FusedNetwork {
  const Network& network;
  const std::vector<Shape>& shapes;
  const std::vector<NodeBounds>& bounds;
  const Fusion& fusion;
  const EngineOptions& options;

  const Node& node(std::size_t i) const { return network.nodes[i]; }
  bool is_depthwise_node(std::size_t i) const;
};

class ValuePlaces {
 public:
  explicit ValuePlaces(const FusedNetwork& known);

  // By node; not stored: fused away.
  const Place& operator[](std::size_t node) const { return places_[node]; }
  const std::vector<Place>& all() const { return places_; }

  // As the value of a node would lie, were it stored.
  Place place_of(std::size_t node) const;

  // The nodes whose values are computed, in the order of execution: one step each.
  const std::vector<std::size_t>& order() const { return order_; }

  std::size_t arena_bytes() const { return arena_bytes_; }

 private:
  void find_addends();
  void find_packed();
  void place_values();
  void plan_memory();
  bool is_alias(std::size_t i) const;
  bool is_thin_input() const;
  bool may_pack(std::size_t i) const;
  bool has_whole_panels(std::size_t i) const;
  bool is_addend(std::size_t value, std::size_t reader) const;
  std::size_t first_of(std::size_t last) const;
  std::vector<std::size_t> inputs_of(std::size_t last) const;

  const Node& node(std::size_t i) const { return known_.node(i); }
  std::size_t size() const { return known_.network.nodes.size(); }
  const std::vector<std::size_t>& readers(std::size_t i) const {
    return known_.fusion.readers()[i];
  }

  const FusedNetwork known_;
  std::vector<const FusedGroup*> joins_;  // by the node that reads the addend of a group
  std::vector<bool> may_pack_;            // by node: its value may lie in halves of bytes
  std::vector<Place> places_;
  std::vector<std::size_t> home_;  // by node: the one in whose place its value lies
  std::vector<std::size_t> order_;
  std::size_t arena_bytes_ = 0;
};

}  // namespace nibble
