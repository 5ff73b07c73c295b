// SPDX-License-Identifier: Apache-2.0
// A batch norm of integer training once it is frozen: a bias and a rescale behind a product.
#pragma once

#include <string>
#include <utility>

#include "nibble/core/tensor.h"
#include "nibble/graph/op.h"

namespace nibble::inline graph {

// The parameters of a trained batch norm, by channel; laws/batch_norm.h says in which units.
struct NormTensors {
  const Tensor& scale;     // i32
  const Tensor& shift;     // i32
  const Tensor& mean;      // i64
  const Tensor& variance;  // i64
};

// R((sum + bias)·multiplier, shift) of every channel.
struct FrozenNorm {
  Tensor bias;         // i32
  Tensor multipliers;  // i32, at most 2^30
  int shift = 0;       // below 0: exponents do not fit
};

// Empty, or what of the parameters is out of the law's bounds: files of strangers come here.
std::string fault_of(const NormTensors& norm);

// `weight` is that of the product, whose outputs are negated where the scale is below zero;
// `has_sums` where the norm was trained on its sums, and not on values of 8 bits.
FrozenNorm frozen_norm(const NormTensors& norm, Tensor& weight, bool has_sums, int value_exponent);

// A product that gives its input, of one image's shape.
std::pair<Op, Tensor> product_of_ones(const Shape& shape);

}  // namespace nibble::inline graph
