// SPDX-License-Identifier: Apache-2.0
// The choices of integer-only training; docs/integer-training.md says what each does to numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nibble/fixed/round_shift.h"

namespace nibble {

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

struct RoundingChoice {
  ShiftRounding value = ShiftRounding::nearest;
  ShiftRounding error = ShiftRounding::nearest;
  ShiftRounding gradient = ShiftRounding::pseudo_stochastic;
  bool operator==(const RoundingChoice&) const = default;
};

// For all layers, and for some by name.
struct IntegerRoundings {
  RoundingChoice all;
  std::vector<std::pair<std::string, RoundingChoice>> layers = {};

  const RoundingChoice& of(std::string_view layer) const {
    for (const auto& [name, choice] : layers) {
      if (name == layer) return choice;
    }
    return all;
  }
};

struct UpdateRule {
  int mu = 5;             // bits of the largest step of a weight
  int bias_mu = 1;        // and of a bias
  int fraction_bits = 0;  // below the mantissa's unit, in which updates accumulate
  int momentum = 0;       // sixteenths of the last step that remain
  bool has_decay = false;
  bool operator==(const UpdateRule&) const = default;
};

struct IntegerOptions {
  std::uint64_t seed = 1;
  ShiftRule rule = ShiftRule::exact;
  CrossEntropyForm form = CrossEntropyForm::fractional;
  UpdateRule update = {};  // without mu, which each step is given
  int residual_bits = 0;  // by which the first weights of layers that only an add reads are smaller
  IntegerRoundings roundings = {};
};

}  // namespace nibble
