// SPDX-License-Identifier: Apache-2.0
// The memory of a training step: values until nobody reads them again, errors until they are used.
#pragma once

#include <cstddef>
#include <vector>

#include "core/buffer_pool.h"
#include "graph/tape_plan.h"

namespace nibble {

class TapeMemory {
 public:
  // The network must outlive the memory; `needs` are those of its nodes.
  TapeMemory(const Network& network, std::vector<LayerNeeds> needs);

  const LayerNeeds& needs(std::size_t node) const { return needs_[node]; }
  bool wants_error(std::size_t node) const { return plan_.wants_error[node]; }
  std::size_t home(std::size_t node) const { return plan_.home[node]; }
  bool is_in_place(std::size_t node) const { return plan_.home[node] != node; }

  // Of the node's home.
  Buffer& value(std::size_t node) { return places_[home(node)].value; }
  const Buffer& value(std::size_t node) const { return places_[home(node)].value; }
  Buffer& error(std::size_t node) { return places_[home(node)].error; }
  const Buffer& error(std::size_t node) const { return places_[home(node)].error; }

  void start();  // of a batch: nothing is there, nobody has read
  void clear();

  // After a node went forward: values of inputs go where nobody will want them. The answer stays.
  void end_forward(std::size_t node, bool is_training);

  // After a node went back: its error goes, and values that nobody keeps any longer.
  void end_backward(std::size_t node);

 private:
  struct Place {
    Buffer value;
    Buffer error;
    std::size_t readers_left = 0;
    std::size_t keepers_left = 0;
  };

  void release_kept(std::size_t node);

  const Network& network_;
  std::vector<LayerNeeds> needs_;
  TapePlan plan_;
  std::size_t answer_;
  std::vector<Place> places_;  // by home
};

}  // namespace nibble
