// SPDX-License-Identifier: Apache-2.0
// Of the many sums that a layer forms, some: where they are, and what they multiply weights with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nibble/core/philox.h"
#include "nibble/graph/network.h"

namespace nibble::inline quantization {

// Ascending, of 0 … available - 1: all where there are no more than `most`, otherwise one drawn
// from each of `most` stretches of like length.
std::vector<std::int64_t> sampled_places(std::int64_t available, std::int64_t most,
                                         const RandomKey& key);

// The sums of a conv2d or a linear as rows times weights.
class ProductRows {
 public:
  // Shapes of one example; the product must outlive this.
  ProductRows(const Op& product, const Shape& input, const Shape& value);

  std::int64_t groups() const { return conv_ == nullptr ? 1 : conv_->groups; }
  std::int64_t order() const { return order_; }           // weights of an output
  std::int64_t area() const { return height_ * width_; }  // places of an example

  // By place, counted over examples, rows and columns of the product's value, the numbers that the
  // weights of a group's outputs are multiplied with, in the order of the weights.
  std::vector<float> of(ConstTensorView batch, std::span<const std::int64_t> places,
                        std::int64_t group) const;

 private:
  void copy_window(ConstTensorView batch, std::int64_t place, std::int64_t group, float* row) const;

  const Conv2d* conv_;  // null: linear
  std::int64_t height_ = 1;
  std::int64_t width_ = 1;
  std::int64_t order_;
};

}  // namespace nibble::inline quantization
