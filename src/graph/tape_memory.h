// SPDX-License-Identifier: Apache-2.0
// The memory of a training step: values until nobody reads them again, errors until they are used.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "graph/tape_plan.h"

namespace nibble::inline graph {

// Handle: memory that is_empty() by default and goes with release(), such as Buffer.
template <class Handle>
class TapeMemory {
 public:
  // The network must outlive the memory; `needs` are those of its nodes.
  TapeMemory(const Network& network, std::vector<LayerNeeds> needs);

  const LayerNeeds& needs(std::size_t node) const { return needs_[node]; }
  bool wants_error(std::size_t node) const { return plan_.wants_error[node]; }
  std::size_t home(std::size_t node) const { return plan_.home[node]; }
  bool is_in_place(std::size_t node) const { return plan_.home[node] != node; }

  // Whether the value of a computed node went before the way back needs it.
  bool is_to_be_made(std::size_t node) const {
    return plan_.is_made_again[home(node)] && value(node).is_empty();
  }

  // Of the node's home.
  Handle& value(std::size_t node) { return places_[home(node)].value; }
  const Handle& value(std::size_t node) const { return places_[home(node)].value; }
  Handle& error(std::size_t node) { return places_[home(node)].error; }
  const Handle& error(std::size_t node) const { return places_[home(node)].error; }

  void start();  // of a batch: nothing is there, nobody has read
  void clear();

  // After a node went forward: values of inputs go where nobody will want them. The answer stays.
  void end_forward(std::size_t node, bool is_training);

  // After a node went back: its error goes, and values that nobody keeps any longer.
  void end_backward(std::size_t node);

 private:
  struct Place {
    Handle value;
    Handle error;
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

template <class Handle>
TapeMemory<Handle>::TapeMemory(const Network& network, std::vector<LayerNeeds> needs)
    : network_(network),
      needs_(std::move(needs)),
      plan_(plan_tape(network, needs_)),
      answer_(output_of(network)),
      places_(network.nodes.size()) {}

template <class Handle>
void TapeMemory<Handle>::start() {
  clear();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    places_[i].readers_left = plan_.readers[i];
    places_[i].keepers_left = plan_.keepers[i];
  }
}

template <class Handle>
void TapeMemory<Handle>::clear() {
  for (Place& place : places_) {
    place.value.release();
    place.error.release();
  }
}

template <class Handle>
void TapeMemory<Handle>::end_forward(std::size_t node, bool is_training) {
  for (const std::size_t input : network_.nodes[node].inputs) {
    if (home(input) == home(node)) continue;
    Place& place = places_[home(input)];
    if (--place.readers_left > 0 || home(input) == home(answer_)) continue;
    if (!is_training || place.keepers_left == 0 || plan_.is_made_again[home(input)])
      place.value.release();
  }
}

template <class Handle>
void TapeMemory<Handle>::end_backward(std::size_t node) {
  if (!is_in_place(node)) error(node).release();
  if (needs_[node].keeps_output) release_kept(node);
  if (!needs_[node].keeps_inputs) return;
  for (const std::size_t input : network_.nodes[node].inputs) release_kept(input);
}

template <class Handle>
void TapeMemory<Handle>::release_kept(std::size_t node) {
  Place& place = places_[home(node)];
  if (--place.keepers_left == 0) place.value.release();
}

}  // namespace nibble::inline graph
