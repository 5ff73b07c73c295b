// SPDX-License-Identifier: Apache-2.0
// The three products of a layer in integer training, each alone, at the layer's shape.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/gather_product.h"
#include "backend/cpu/patches.h"
#include "backend/cpu/weight_gradient.h"
#include "core/buffer_pool.h"
#include "nibble/graph/network.h"

namespace nibble {

enum class LayerPass : std::uint8_t { forward, input_error, weight_gradient };
std::string_view name_of(LayerPass pass);

// A convolution or linear layer of a network.
struct WeightedLayer {
  std::string name;
  bool is_convolution = false;
  bool passes_error = false;  // false: no weights are before it
  bool reads_pixels = false;  // its input is the picture itself, not what a relu left
  SlidingWindow window;
  WeightShape weight;
  Picture input;
  Picture output;
  std::int64_t products = 0;  // of one image, those over the border included
};

std::vector<WeightedLayer> weighted_layers(const Network& network);

// The same on a few pixels, for results that are compared with slow ones.
WeightedLayer reduced(WeightedLayer layer);

// Random operands as training has them: half of what a relu gives, and of its errors, is zero.
class LayerProblem {
 public:
  LayerProblem(const WeightedLayer& layer, std::int64_t images);

  // As the layer does it once a step: weights are packed, sums rounded, errors and inputs turned.
  void run(LayerPass pass);

  std::vector<std::int64_t> result(LayerPass pass) const;  // of the last run
  double share_inside() const;  // of the products: those that meet a pixel, not the border

 private:
  int shift_of(LayerPass pass);
  SumsOutcome multiply(LayerPass pass, int shift);

  const WeightedLayer layer_;
  TapMap ahead_;
  TapMap back_;
  bool is_thin_;
  TapMap unfolded_;  // for the products that read the input: as it is, or unfolded
  WeightShape unfolded_shape_;
  PackedWeights forward_weights_;
  PackedWeights backward_weights_;
  std::vector<std::int8_t> weights_;
  BufferPool pool_;  // as a tape has one: memory is taken once
  Buffer patch_memory_;
  BlockTensor patches_;
  Tensor memory_[4];
  BlockTensor input_;
  BlockTensor output_;
  BlockTensor output_error_;
  BlockTensor input_error_;
  GradientSums gradient_;
  int shifts_[2] = {};
};

}  // namespace nibble
