// SPDX-License-Identifier: Apache-2.0
// A training step as a list: what every layer reads and writes, forward and back, and where.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/arena.h"
#include "graph/picture.h"
#include "nibble/graph/network.h"

namespace nibble::inline emit {

// The error that a layer sends to one of its inputs.
struct ErrorRoute {
  bool is_wanted = false;
  std::size_t buffer = 0;            // the layer's own error where nothing has to move
  std::optional<std::size_t> joins;  // the error that is there already: it becomes the sum
};

struct TrainLayer {
  std::optional<std::size_t> value;  // its buffer; none: the caller's images
  std::optional<std::size_t> marks;  // of relu and max_pool
  std::optional<std::size_t> error;  // none: the layer takes no part on the way back
  std::vector<ErrorRoute> routes;    // by input, where it takes part
  std::size_t value_point = 0;       // places of its shifts, where it rounds
  std::size_t error_point = 0;
  int mark_log = 0;  // a mark has 2^log bits
};

struct TrainPlan {
  std::size_t answer = 0;
  std::vector<Picture> pictures;   // by node
  std::vector<TrainLayer> layers;  // by node, up to the answer
  std::vector<ArenaItem> buffers;
  std::size_t memory = 0;  // bytes of all buffers
  std::size_t points = 0;  // shifts

  bool sends_errors() const;  // whether any layer sends an error to an input
  bool rounds_value(const Network& network, std::size_t node) const;
  bool rounds_error(const Network& network, std::size_t node) const;
};

bool is_rectifier(const Op& op);  // relu, relu6
bool is_average(const Op& op);
bool is_box(const Op& op);  // slice, pad

// Of batches of at most `batch` images. The network has emitted training.
TrainPlan plan_training(const Network& network, std::int64_t batch);

}  // namespace nibble::inline emit
