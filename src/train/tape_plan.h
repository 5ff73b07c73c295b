// SPDX-License-Identifier: Apache-2.0
// Which values share memory, and how long each must live.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "train/layer.h"

namespace nibble {

struct TapePlan {
  // The node whose memory holds this node's value: itself, or an input for layers in place.
  std::vector<std::size_t> home;
  // By home: how many layers will read the value on the way forward.
  std::vector<std::size_t> readers;
  // By home: how many layers need it on the way back; 0: it may go when the readers have read.
  std::vector<std::size_t> keepers;
  // Whether an error of the node's value is worth having: something before it is trained.
  std::vector<bool> wants_error;
};

// `layers` has one entry a node, null for the input and the loss.
TapePlan plan_tape(const Network& network, const std::vector<std::unique_ptr<Layer>>& layers);

}  // namespace nibble
