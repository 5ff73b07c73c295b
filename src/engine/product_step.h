// SPDX-License-Identifier: Apache-2.0
// Convolution and linear layers with all that follows in one pass: bias, residual add, rescale,
// relu, largest of windows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/place.h"
#include "engine/step.h"
#include "nibble/engine/tuning.h"
#include "nibble/graph/op.h"

namespace nibble {

// y = clamp(R((Σ x·w + bias + R(a·f, t))·m, s), low, high), or the largest of its windows
struct ProductSpec {
  std::string name;
  std::string kind;
  Place in;
  Place out;
  Place addend = {};         // not stored: none
  Extent2 meeting = {1, 1};  // more: y is the largest of such windows, which meet, of outputs
  MaxPool pool = {};         // of y, which then lies in no arena
  Place pooled = {};         // not stored: no pool
  Conv2d window;             // of a linear layer: one tap that is the whole picture
  bool is_linear = false;
  std::vector<std::int8_t> weights;  // (out, rows, columns, in / groups), (out, features)
  bool has_small_weights = false;    // of 4 bits: kept packed
  std::vector<std::int64_t> bias;    // empty: none
  std::vector<std::int64_t> addend_multiplier = {1};  // one, or one a channel
  int addend_shift = 0;
  std::vector<std::int64_t> multiplier = {1};  // one, or one a channel
  int shift = 0;
  std::int64_t low = 0;
  std::int64_t high = 0;
  bool is_wide = true;  // products need 64 bits
  std::int64_t macs = 0;
  std::string shape = {};  // what its speed depends on
  ProductCut cut = {};
};

std::unique_ptr<EngineStep> make_product_step(ProductSpec spec);

}  // namespace nibble
