// SPDX-License-Identifier: Apache-2.0
// Batch norms of a network: folded into the products before them, found behind one, frozen after
// integer training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nibble/core/tensor.h"
#include "nibble/graph/network.h"
#include "nibble/graph/op.h"

namespace nibble::inline graph {

// The same function without batch norms and dropouts. A batch norm that alone reads a conv2d or a
// linear goes into its weight and bias, in double arithmetic, and so does a bias node; a batch norm
// elsewhere becomes a conv2d of 1×1 with a group a channel, under its own name, and is refused, by
// name, where its input is a vector. The nodes that stay keep their names.
Model fold_batch_norm(Model model);

// A convolution or linear layer without a bias that one batch norm reads, and nobody else. Its sums
// are not rounded to int8 by themselves: the norm does that.
bool is_normalized_product(const Network& network, std::size_t node);

bool has_batch_norm(const Network& network);

// A batch norm of integer training once it is frozen: a bias and a rescale behind a product.

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

// Of how many channels the bias is held at its bound: what they answer is too near to 0. `weight`
// is that of the product whose sums are normalized; null where values are.
std::int64_t held_channels(const NormTensors& norm, const Tensor* weight);

struct HeldNorm {
  std::string name;
  std::int64_t channels = 0;
};

// Of the whole model, of norms that fault_of finds nothing in.
std::vector<HeldNorm> held_norms(const Model& model);

// One line: "3 channels of batch norms (a: 2, b: 1) with a frozen bias held …"; empty: none.
std::string held_norms_warning(const std::vector<HeldNorm>& held);

// A product that gives its input, of one image's shape.
std::pair<Op, Tensor> product_of_ones(const Shape& shape);

}  // namespace nibble::inline graph
