// SPDX-License-Identifier: Apache-2.0
// What the integer tape asks of a layer: forward, backward with the update, and what it remembers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "integer/block_tensor.h"
#include "integer/rounding_point.h"
#include "integer/trained_tensor.h"
#include "nibble/graph/network.h"

namespace nibble {

struct IntegerPass {
  PassRule rule;
  bool is_training = false;
  UpdateRule update = {};
  std::int64_t first_image = 0;  // of this rank in the batch of all ranks
  std::int64_t all_images = 0;
  BufferPool* pool = nullptr;
};

struct IntegerForward {
  const IntegerPass& pass;
  std::span<const BlockTensor* const> inputs;
  BlockTensor& output;  // its memory is the first input's for layers that work in place
};

struct IntegerBackward {
  const IntegerPass& pass;
  std::span<const BlockTensor* const> inputs;  // null where the layer does not keep them
  const BlockTensor* output;                   // null unless it keeps its output
  const BlockTensor& output_error;             // may be destroyed
  std::span<BlockTensor* const> input_errors;  // to be written; null where nobody wants it
};

class IntegerLayer {
 public:
  virtual ~IntegerLayer() = default;
  virtual void forward(const IntegerForward& arguments) = 0;

  // Passes errors on by the weights as they are, then moves the weights.
  virtual void backward(const IntegerBackward& arguments) = 0;

  virtual bool keeps_inputs() const { return false; }
  virtual bool keeps_output() const { return false; }
  virtual bool works_in_place() const { return false; }

  // In the order of parameters_of(network).
  virtual std::vector<TrainedTensor*> parameters() { return {}; }
  virtual void weights_changed() {}

  // The exponent of the sums that value_point rounds, or of the value where nothing is rounded,
  // in evaluation.
  virtual int sum_exponent(std::span<const int> inputs) const { return inputs[0]; }

  // Where values are rounded (one at most) and where errors are.
  virtual RoundingPoint* value_point() { return nullptr; }
  virtual std::vector<RoundingPoint*> error_points() { return {}; }
};

// Which stream of draws belongs to whom.
inline constexpr std::uint32_t kIntegerRoundingStreams = 0x50000000u;  // + node·8 + point
inline constexpr std::uint32_t kIntegerDropoutStreams = 0x60000000u;   // + node
inline constexpr std::uint32_t kIntegerInitialStreams = 0x70000000u;   // + place in parameters_of
inline constexpr std::uint32_t kIntegerLossStream = 0x80000000u;
inline constexpr std::uint32_t kIntegerUpdateStreams = 0x90000000u;  // + place in parameters_of

struct IntegerLayerSettings {
  const Node& node;
  std::size_t index;
  std::vector<Picture> inputs;
  Picture output;
  ShiftRounding value_rounding = ShiftRounding::nearest;
  ShiftRounding error_rounding = ShiftRounding::nearest;

  RoundingPoint value_point() const;
  RoundingPoint error_point(std::uint32_t which = 0) const;
};

// Throws where the operation has no integer form.
std::unique_ptr<IntegerLayer> make_integer_layer(const IntegerLayerSettings& settings);

std::unique_ptr<IntegerLayer> make_integer_product(const IntegerLayerSettings& settings);
std::unique_ptr<IntegerLayer> make_integer_rectifier(const IntegerLayerSettings& settings);
std::unique_ptr<IntegerLayer> make_integer_max_pool(const IntegerLayerSettings& settings);
std::unique_ptr<IntegerLayer> make_integer_average(const IntegerLayerSettings& settings);
std::unique_ptr<IntegerLayer> make_integer_dropout(const IntegerLayerSettings& settings);
std::unique_ptr<IntegerLayer> make_integer_add(const IntegerLayerSettings& settings);
std::unique_ptr<IntegerLayer> make_integer_bias(const IntegerLayerSettings& settings);
std::unique_ptr<IntegerLayer> make_integer_window(const IntegerLayerSettings& settings);
std::unique_ptr<IntegerLayer> make_integer_concat(const IntegerLayerSettings& settings);

// What the picture of a node's value is in memory.
std::vector<Picture> pictures_of(const Network& network);

// Gradients before rounding are summed over ranks: every rank then makes the same update.
void sum_over_ranks(GradientSums& gradient, Communicator* cluster);

[[noreturn]] void refuse_layer(const Node& node, std::string_view got, std::string_view expected);

}  // namespace nibble
