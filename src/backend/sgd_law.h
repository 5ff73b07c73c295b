// SPDX-License-Identifier: Apache-2.0
// The rule "sgd", by which the exponent of a gradient counts and that of a weight may move, as
// every backend applies it.
#pragma once

#include <cstdint>

#include "backend/cases.h"
#include "laws/sgd_step.h"
#include "nibble/backend/rules.h"

namespace nibble::inline backend {

inline constexpr int kLeastWeightExponent = -48;
inline constexpr int kMostWeightExponent = 16;
inline constexpr int kStepBits =
    16;  // of momentum, below a weight's unit: its fraction bits or more

// Biases never decay; γ and β of a batch norm do where the rule says so.
NIBBLE_HOST_DEVICE constexpr bool decays(const SgdUpdate& rule, bool is_bias, NormPart norm) {
  return norm == NormPart::none ? !is_bias : rule.has_norm_decay;
}

// Of a tensor with this exponent, whose gradient has that of its sums.
NIBBLE_HOST_DEVICE constexpr SgdStep sgd_step_of(const SgdUpdate& rule, int sum_exponent,
                                                 int exponent, bool decays,
                                                 ShiftRounding rounding) {
  return {.rate = rule.rate.mantissa,
          .shift = exponent - kStepBits - (sum_exponent + rule.rate.exponent),
          .decay = decays ? rule.decay.mantissa : 0,
          .decay_shift = -rule.decay.exponent - (kStepBits - rule.fraction_bits),
          .momentum = rule.momentum,
          .step_shift = kStepBits - rule.fraction_bits,
          .rounding = rounding,
          .looks_ahead = rule.looks_ahead};
}

// What follows a step: the numbers of a tensor go down by `halvings` places (-1: up by one), and
// its exponent the other way.
struct ExponentMove {
  int halvings = 0;
  int fraction_bits = 0;

  // A tensor whose largest number leaves the mantissas is halved until it is within; one whose
  // largest is below 48 is doubled. A halving leaves at least 63, a doubling at most 96: both are
  // far from the other.
  NIBBLE_HOST_DEVICE static constexpr ExponentMove of(std::int64_t largest, int fraction_bits,
                                                      int exponent) {
    constexpr std::int64_t kLow = 48;
    ExponentMove move{0, fraction_bits};
    while (shift_nearest(largest, move.halvings) > move.most() &&
           exponent + move.halvings < kMostWeightExponent)
      ++move.halvings;
    const bool is_low = largest > 0 && largest < kLow << fraction_bits;
    if (is_low && exponent > kLeastWeightExponent) move.halvings = -1;
    return move;
  }

  NIBBLE_HOST_DEVICE constexpr void settle(FineNumber& number) const {
    number.fine = static_cast<std::int32_t>(held_within(moved(number.fine), most()));
    number.momentum = static_cast<std::int32_t>(held_within(moved(number.momentum), kMostFine));
  }

 private:
  NIBBLE_HOST_DEVICE constexpr std::int64_t most() const {
    return std::int64_t{127} << fraction_bits;
  }
  NIBBLE_HOST_DEVICE constexpr std::int64_t moved(std::int64_t x) const {
    return halvings < 0 ? 2 * x : shift_nearest(x, halvings);
  }
};

}  // namespace nibble::inline backend
