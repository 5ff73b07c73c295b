// SPDX-License-Identifier: Apache-2.0
// The law by which one weight moves, as every backend applies it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "laws/integer_division.h"
#include "laws/round_shift.h"
#include "nibble/core/host_device.h"

namespace nibble::inline backend {

inline constexpr int kDecayBits = 15;  // a decayed weight of 1 counts 2^-15 of the largest gradient

// w·2^β added to a gradient whose largest number has `bits`, β = bits - 15; a negative β divides,
// toward zero.
NIBBLE_HOST_DEVICE constexpr std::int64_t decay_of(std::int64_t weight, int bits) {
  const int beta = bits - kDecayBits;
  return beta >= 0 ? weight * (std::int64_t{1} << beta) : shift_toward_zero(weight, -beta);
}

// What a weight has: `fine` where there are fraction bits, `momentum` where there is some.
struct WeightNumbers {
  std::int8_t mantissa = 0;
  std::int32_t fine = 0;
  std::int32_t momentum = 0;
};

struct UpdateLaw {
  int shift = 0;  // of gradients; below 1 they count as they are
  int fraction_bits = 0;
  int momentum = 0;  // sixteenths
  ShiftRounding rounding = ShiftRounding::pseudo_stochastic;

  // Whether 32 bits, which a GPU likes better, hold all that comes of gradients of so many bits.
  NIBBLE_HOST_DEVICE constexpr bool is_narrow(int gradient_bits) const {
    return gradient_bits <= 30 && shift <= 30 && fraction_bits <= 16;
  }

  // `draw` counts where the rounding is stochastic.
  template <class Number = std::int64_t>
  NIBBLE_HOST_DEVICE constexpr void move(WeightNumbers& weight,
                                         std::type_identity_t<Number> gradient,
                                         std::uint32_t draw) const {
    const Number limit = Number{127} << fraction_bits;
    Number change = std::clamp(
        shift < 1 ? gradient : round_shift<Number>(rounding, gradient, shift, draw), -limit, limit);
    if (momentum > 0) {
      const Number kept = with_sign_of<Number>(
          weight.momentum, magnitude_of<Number>(Number{weight.momentum} * momentum) >> 4);
      change = std::clamp(static_cast<Number>(kept + change), -limit, limit);
      weight.momentum = static_cast<std::int32_t>(change);
    }
    if (fraction_bits == 0) {
      weight.mantissa = clamp127(weight.mantissa - change);
      return;
    }
    weight.fine = static_cast<std::int32_t>(
        std::clamp(static_cast<Number>(weight.fine - change), -limit, limit));
    weight.mantissa = clamp127(shift_nearest<std::int32_t>(weight.fine, fraction_bits));
  }
};

}  // namespace nibble::inline backend
