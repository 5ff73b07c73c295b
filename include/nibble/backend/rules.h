// SPDX-License-Identifier: Apache-2.0
// The rules of integer-only training that whoever computes must follow; docs/integer-training.md
// says what each does to numbers.
#pragma once

#include <cstdint>
#include <variant>

#include "nibble/laws/scaled_integer.h"

namespace nibble::inline backend {

// Where the shift comes from that makes sums int8 again.
enum class ShiftRule : std::uint8_t {
  exact,    // from this batch's largest sum
  delayed,  // from the last batch's largest sum, with saturation; the first batch: exact
  frozen,   // as it was set
};

enum class CrossEntropyForm : std::uint8_t {
  fractional,     // powers of two by a table of 256 fractions
  whole_octaves,  // NITI's first form: exponents cut to whole numbers
};

struct CrossEntropyRule {
  CrossEntropyForm form = CrossEntropyForm::fractional;
  std::int64_t smoothing = 0;  // of the label's target, what every class gets, in 2^-11
};

// Gradients are shifted down to so many bits of the weight's unit, whatever their exponent.
struct ShiftUpdate {
  int mu = 5;             // bits of the largest step of a weight
  int bias_mu = 1;        // and of a bias
  int fraction_bits = 0;  // below the mantissa's unit, in which updates accumulate
  int momentum = 0;       // sixteenths of the last step that remain
  bool has_decay = false;
  bool operator==(const ShiftUpdate&) const = default;
};

// Gradients count by their exponent, times a rate; the exponents of weights may move.
struct SgdUpdate {
  ScaledInteger rate =
      {};  // of 15 bits; the errors of a batch are sums, so it has 1 / images in it
  ScaledInteger decay = {};     // of 15 bits: the share of itself that a weight loses in a step
  int momentum = 230;           // 256ths of the last step that remain
  int fraction_bits = 16;       // 1 to 16
  bool has_norm_decay = false;  // γ and β of batch norms decay as weights do
  bool looks_ahead = false;     // Nesterov's momentum
  bool operator==(const SgdUpdate&) const = default;
};

using UpdateRule = std::variant<ShiftUpdate, SgdUpdate>;

}  // namespace nibble::inline backend
