// SPDX-License-Identifier: Apache-2.0
// Convolution and linear layers with all that follows in one pass: bias, residual add, rescale,
// relu, largest of windows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/cpu/place.h"
#include "engine/cpu/step.h"
#include "engine/program.h"
#include "nibble/engine/tuning.h"
#include "nibble/graph/op.h"

namespace nibble::inline engine {

// A ProductLaw and where its values lie.
struct ProductSpec {
  Place in;
  Place out;
  Place addend = {};         // not stored: none
  Extent2 meeting = {1, 1};  // more: y is the largest of such windows, which meet, of outputs
  MaxPool pool = {};         // of y, which then lies in no arena
  Place pooled = {};         // not stored: no pool
  Conv2d window = {};        // of a linear layer: one tap that is the whole picture
  bool is_linear = false;
  std::vector<std::int8_t> weights = {};  // (out, rows, columns, in / groups), (out, features)
  bool has_small_weights = false;         // of 4 bits: kept packed
  FinishLaw finish = {};
  std::string shape = {};  // what its speed depends on
  ProductCut cut = {};
};

std::unique_ptr<CpuStep> make_product_step(ProductSpec spec);

// Convolutions of one channel to one with all that follows in one pass, as products have it.

// The input must lie as u8.
std::unique_ptr<CpuStep> make_depthwise_step(ProductSpec spec);

}  // namespace nibble::inline engine
