// SPDX-License-Identifier: Apache-2.0
// The memory of a training step.
#include "graph/tape_memory.h"

#include <utility>

namespace nibble {

TapeMemory::TapeMemory(const Network& network, std::vector<LayerNeeds> needs)
    : network_(network),
      needs_(std::move(needs)),
      plan_(plan_tape(network, needs_)),
      answer_(output_of(network)),
      places_(network.nodes.size()) {}

void TapeMemory::start() {
  clear();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    places_[i].readers_left = plan_.readers[i];
    places_[i].keepers_left = plan_.keepers[i];
  }
}

void TapeMemory::clear() {
  for (Place& place : places_) {
    place.value.release();
    place.error.release();
  }
}

void TapeMemory::end_forward(std::size_t node, bool is_training) {
  for (const std::size_t input : network_.nodes[node].inputs) {
    if (home(input) == home(node)) continue;
    Place& place = places_[home(input)];
    if (--place.readers_left > 0 || home(input) == home(answer_)) continue;
    if (!is_training || place.keepers_left == 0) place.value.release();
  }
}

void TapeMemory::end_backward(std::size_t node) {
  if (!is_in_place(node)) error(node).release();
  if (needs_[node].keeps_output) release_kept(node);
  if (!needs_[node].keeps_inputs) return;
  for (const std::size_t input : network_.nodes[node].inputs) release_kept(input);
}

void TapeMemory::release_kept(std::size_t node) {
  Place& place = places_[home(node)];
  if (--place.keepers_left == 0) place.value.release();
}

}  // namespace nibble
