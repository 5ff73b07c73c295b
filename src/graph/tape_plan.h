// SPDX-License-Identifier: Apache-2.0
// Which values of a training step share memory, and how long each must live.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "nibble/graph/network.h"

namespace nibble::inline graph {

// What the way back asks of a node's layer.
struct LayerNeeds {
  bool computes = false;  // the input and the loss do not
  bool keeps_inputs = false;
  bool keeps_output = false;
  bool works_in_place = false;      // output may be the first input's memory, and its error too
  bool makes_output_again = false;  // from inputs, which it keeps; the output may go till then
  bool has_parameters = false;      // that are trained
};

// Of a layer by its own words; null computes nothing.
template <class AnyLayer>
LayerNeeds needs_of(AnyLayer* layer) {
  if (layer == nullptr) return {};
  return {.computes = true,
          .keeps_inputs = layer->keeps_inputs(),
          .keeps_output = layer->keeps_output(),
          .works_in_place = layer->works_in_place(),
          .has_parameters = !layer->parameters().empty()};
}

struct TapePlan {
  // The node whose memory holds this node's value: itself, or an input for layers in place.
  std::vector<std::size_t> home;
  // By home: how many layers will read the value on the way forward.
  std::vector<std::size_t> readers;
  // By home: how many layers need it on the way back; 0: it may go when the readers have read.
  std::vector<std::size_t> keepers;
  // By home: whether it goes when the readers have read, and is made again on the way back.
  std::vector<bool> is_made_again;
  // Whether an error of the node's value is worth having: something before it is trained.
  std::vector<bool> wants_error;
};

TapePlan plan_tape(const Network& network, std::span<const LayerNeeds> needs);

}  // namespace nibble::inline graph
