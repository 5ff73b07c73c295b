// SPDX-License-Identifier: Apache-2.0
// Integer values forward, integer errors back; every layer moves its weights as errors pass.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/buffer_pool.h"
#include "graph/tape_memory.h"
#include "integer/layer.h"
#include "nibble/integer/settings.h"

namespace nibble {

class IntegerTape {
 public:
  // The network must outlive the tape. Weights are not set.
  IntegerTape(const Network& network, const IntegerRoundings& roundings);

  // In the order of parameters_of(network).
  const std::vector<TrainedTensor*>& parameters() const { return parameters_; }
  void weights_changed();

  // Points that keep shifts from batch to batch: of values by node (null: none), and all of them.
  RoundingPoint* value_point(std::size_t node) const;
  const std::vector<RoundingPoint*>& points() const { return points_; }

  const Picture& input_picture() const { return pictures_[0]; }
  const Picture& answer_picture() const { return pictures_[answer_]; }

  // Runs the network on a batch, which must live until the way back has ended; the answer lives
  // until the next call.
  BlockTensor forward(const IntegerPass& pass, const BlockTensor& batch);

  // Runs back from the error of the answer and moves all weights.
  void backward(const IntegerPass& pass, const BlockTensor& answer_error);

  // Of all values, in the order of nodes; freezing sets the shifts that lead to them.
  std::vector<int> value_exponents() const;
  void freeze(std::span<const int> value_exponents);

  std::size_t peak_bytes() const { return pool_.peak_bytes(); }
  BufferPool& pool() { return pool_; }

 private:
  struct Exponents {
    int value = 0;
    int error = 0;
  };

  BlockTensor value_at(std::size_t node) const;
  BlockTensor error_at(std::size_t node) const;
  Buffer take(std::size_t node, BlockTensor& tensor);
  void backward_node(const IntegerPass& pass, std::size_t node);
  void join_error(const IntegerPass& pass, std::size_t node, Buffer& other, int exponent);

  const Network& network_;
  std::vector<Picture> pictures_;
  BufferPool pool_;  // before all that borrows from it
  std::vector<std::unique_ptr<IntegerLayer>> layers_;
  std::vector<RoundingPoint> joins_;  // by node: of errors that meet
  std::optional<TapeMemory> memory_;  // made once the layers are
  std::size_t answer_;
  std::vector<Exponents> exponents_;  // by node, of the last batch
  std::vector<TrainedTensor*> parameters_;
  std::vector<RoundingPoint*> points_;
  BlockTensor batch_;
};

}  // namespace nibble
