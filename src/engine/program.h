// SPDX-License-Identifier: Apache-2.0
// What an integer network computes, as a list of steps that any device can compile. It says nothing
// of memory, layout or the order of work within a step: those are the device's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "graph/fusion.h"
#include "graph/picture.h"
#include "nibble/engine/engine.h"
#include "nibble/graph/network.h"

namespace nibble::inline engine {

// The value of a node.
struct ProgramValue {
  ValueInfo info;
  Picture picture;
  bool is_stored = false;  // false: it is there only within a step
};

// What follows a sum: y = clamp(R((sum + bias + R(a·f, t))·m, s), low, high). Multipliers are one,
// or one a channel.
struct FinishLaw {
  std::vector<std::int64_t> bias = {};  // as multipliers are; empty: none
  std::size_t addend = kNoNode;         // the value a
  std::int64_t addend_low = 0;          // the least that it can be, and the most
  std::int64_t addend_high = 0;
  std::vector<std::int64_t> addend_multiplier = {1};
  int addend_shift = 0;
  std::vector<std::int64_t> multiplier = {1};
  int shift = 0;
  Interval sum = {};      // with bias and addend
  Interval product = {};  // that times m
  std::int64_t low = 0;
  std::int64_t high = 0;
  bool is_wide = true;         // products with m or f need 64 bits
  bool has_wide_sums = false;  // even the sums do
  bool has_ties = true;        // false: no product with m is half-way between two results
};

// The largest of windows of y.
struct LargestLaw {
  MaxPool pool;
  std::size_t pooled = 0;   // the value y, which is not stored
  bool takes_sums = false;  // windows of a few sums that do not overlap: take those, finish one
};

// A conv2d or linear layer and all that follows in one pass.
struct ProductLaw {
  std::size_t node = 0;  // whose weights these are
  std::variant<Conv2d, Linear> op;
  bool is_depthwise = false;
  bool has_small_weights = false;  // of 4 bits or less
  FinishLaw finish;
  std::optional<LargestLaw> largest = {};
};

struct MeanLaw {
  SumPool pool;
  FinishLaw finish;
};

// clamp(R(x·multiplier, shift), low, high) of a value x.
struct SumTerm {
  Rescale op;
  std::int64_t multiplier = 1;

  std::int32_t of(std::int64_t x) const;
  bool is_narrow(std::int64_t x) const;  // 32 bits hold it before it is clamped
};

// Any other operation by itself.
struct SingleLaw {
  Op op;
  std::vector<std::int64_t> numbers = {};  // bias, multiplier or table
  bool is_wide = false;                    // of a rescale: products need 64 bits
  std::vector<SumTerm> terms = {};         // of a rescale that takes a sum of two: one an input
};

struct ProgramStep {
  std::string name;                 // of the node whose value it gives
  std::string kind;                 // "conv2d 3x3/2 + add + rescale", "max_pool", …
  std::vector<std::size_t> inputs;  // values, without the addend
  std::size_t output = 0;           // the value
  std::int64_t macs = 0;
  std::variant<ProductLaw, MeanLaw, SingleLaw> law;

  const FinishLaw* finish() const;         // null: a single operation
  const LargestLaw* largest() const;       // the windows that end a product; null: there are none
  std::vector<std::size_t> reads() const;  // inputs and addend

  // The operation, where it stands by itself and is one of these; else null.
  template <class Operation>
  const Operation* single() const {
    const auto* alone = std::get_if<SingleLaw>(&law);
    return alone == nullptr ? nullptr : std::get_if<Operation>(&alone->op);
  }
};

struct EngineProgram {
  Model model;                       // in integer_form
  std::vector<ProgramValue> values;  // by node; values[0] is the input, the last one the answer
  std::vector<ProgramStep> steps;    // in an order of execution
  ValueInfo entry;                   // the input as it enters

  // (out, rows, columns, in / groups), (out, features)
  std::vector<std::int8_t> weights_of(const ProductLaw& law) const;
};

// "conv2d 3x3/2"
std::string window_words(const Conv2d& conv);

// The model must be in integer_form. `is_fused`: false keeps every node by itself. Throws, naming
// the node, where a value that is stored needs more than 32 bits.
EngineProgram make_program(Model model, bool is_fused);

}  // namespace nibble::inline engine
