// SPDX-License-Identifier: Apache-2.0
// The products of a convolution or linear layer: forward, and back to the error of its input and to
// the gradients of its weights. Whoever computes them has no parameters of its own.
#pragma once

#include <memory>

#include "float_training/layer.h"

namespace nibble::inline float_training {

// As products use them.
struct ProductWeights {
  const LayerParameter& weight;
  const LayerParameter* bias;  // null: none
};

// What is wanted of the way back; null: not that.
struct ProductsBack {
  const float* input;  // for gradients
  const float* error;
  const LayerParameter& weight;  // for the input's error
  float* input_error = nullptr;
  float* weight_gradient = nullptr;
  float* bias_gradient = nullptr;  // wanted with the weight's, where the layer has a bias
};

class ProductPasses {
 public:
  virtual ~ProductPasses() = default;
  virtual void forward(const Pass& pass, const float* input, const ProductWeights& weights,
                       float* output) = 0;
  virtual void backward(const Pass& pass, const ProductsBack& wanted) = 0;
};

// Of the node's operation, on the CPU.
std::unique_ptr<ProductPasses> make_product_passes(const LayerSettings& settings);

// One a kind of layer; make_product_passes chooses.
std::unique_ptr<ProductPasses> make_convolution_passes(const LayerSettings& settings);
std::unique_ptr<ProductPasses> make_linear_passes(const LayerSettings& settings);

}  // namespace nibble::inline float_training
