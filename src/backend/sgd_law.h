// SPDX-License-Identifier: Apache-2.0
// The rule "sgd", by which the exponent of a gradient counts and that of weights may move, as every
// backend applies it: to one number, and to the exponent of a tensor.
#pragma once

#include <algorithm>
#include <cstdint>

#include "laws/integer_division.h"
#include "laws/round_shift.h"
#include "nibble/backend/rules.h"
#include "nibble/core/host_device.h"

namespace nibble::inline backend {

inline constexpr int kRateBits = 15;  // of the mantissas of rate and decay
inline constexpr int kMomentumBits = 8;
inline constexpr std::int64_t kMostFine = std::int64_t{1} << 30;  // |f|, |m| and parts of m
inline constexpr std::int64_t kMostSum = std::int64_t{1} << 47;   // times a rate: 2^62 at most
inline constexpr int kMostSgdShift = 62;
inline constexpr int kLeastWeightExponent = -48;
inline constexpr int kMostWeightExponent = 16;

// x / 2^s with the rounding given, held within ±2^30. Below s = 1 it grows; above 62 nothing is
// left of |x| ≤ 2^62.
NIBBLE_HOST_DEVICE constexpr std::int64_t scaled_part(ShiftRounding rounding, std::int64_t x, int s,
                                                      std::uint32_t draw) {
  if (s > kMostSgdShift) return 0;
  if (s > 0) {
    const std::int64_t part = round_shift(rounding, x, s, draw);
    return part < -kMostFine ? -kMostFine : (part > kMostFine ? kMostFine : part);
  }
  const std::int64_t room = s < -kMostSgdShift ? 0 : kMostFine >> -s;
  if (x > room) return kMostFine;
  if (x < -room) return -kMostFine;
  return x == 0 ? 0 : x * (std::int64_t{1} << -s);
}

// A number in training, in units of 2^(exponent of the tensor - fraction bits).
struct FineNumber {
  std::int32_t fine = 0;
  std::int32_t momentum = 0;
};

struct SgdLaw {
  std::int64_t rate = 0;   // 15 bits
  int shift = 0;           // of gradient · rate
  std::int64_t decay = 0;  // 15 bits
  int decay_shift = 0;     // of number · decay
  int momentum = 0;        // 256ths
  ShiftRounding rounding = ShiftRounding::stochastic;

  // Of a tensor with this exponent whose gradient has that of its sums.
  NIBBLE_HOST_DEVICE static constexpr SgdLaw of(const SgdUpdate& rule, int sum_exponent,
                                                int exponent, bool decays, ShiftRounding rounding) {
    return {.rate = rule.rate.mantissa,
            .shift = exponent - rule.fraction_bits - (sum_exponent + rule.rate.exponent),
            .decay = decays ? rule.decay.mantissa : 0,
            .decay_shift = -rule.decay.exponent,
            .momentum = rule.momentum,
            .rounding = rounding};
  }

  // m = m·M/256 + g·rate + f·decay, f -= m. Gradient and decay are rounded by the same draw, so
  // that each is right in the mean.
  NIBBLE_HOST_DEVICE constexpr void move(FineNumber& number, std::int64_t gradient,
                                         std::uint32_t draw) const {
    const std::int64_t sum =
        gradient < -kMostSum ? -kMostSum : (gradient > kMostSum ? kMostSum : gradient);
    const std::int64_t kept =
        shift_toward_zero(std::int64_t{number.momentum} * momentum, kMomentumBits);
    const std::int64_t step = kept + scaled_part(rounding, sum * rate, shift, draw) +
                              scaled_part(rounding, number.fine * decay, decay_shift, draw);
    number.momentum = held(step);
    number.fine = held(std::int64_t{number.fine} - number.momentum);
  }

  NIBBLE_HOST_DEVICE static constexpr std::int32_t held(std::int64_t x) {
    return static_cast<std::int32_t>(x < -kMostFine ? -kMostFine : (x > kMostFine ? kMostFine : x));
  }
};

// What follows a step: the numbers move down by `halvings` places (-1: up by one), and the exponent
// the other way.
struct ExponentLaw {
  int halvings = 0;
  int fraction_bits = 0;

  NIBBLE_HOST_DEVICE static constexpr std::int64_t most_fine(int fraction_bits) {
    return std::int64_t{127} << fraction_bits;
  }

  // A tensor whose largest number leaves the mantissas is halved until it is within; one that is
  // below 48, three quarters of what a halving leaves, is doubled: up to 96, a third short of the
  // next halving.
  NIBBLE_HOST_DEVICE static constexpr ExponentLaw of(std::int64_t largest, int fraction_bits,
                                                     int exponent) {
    constexpr std::int64_t kLow = 48;
    int halvings = 0;
    while (shift_nearest(largest, halvings) > most_fine(fraction_bits) &&
           exponent + halvings < kMostWeightExponent)
      ++halvings;
    const bool is_low = largest > 0 && largest < kLow << fraction_bits;
    if (is_low && exponent > kLeastWeightExponent) halvings = -1;
    return {halvings, fraction_bits};
  }

  NIBBLE_HOST_DEVICE constexpr void settle(FineNumber& number) const {
    const std::int64_t most = most_fine(fraction_bits);
    const std::int64_t fine = moved(number.fine);
    number.fine = static_cast<std::int32_t>(fine < -most ? -most : (fine > most ? most : fine));
    number.momentum = SgdLaw::held(moved(number.momentum));
  }

 private:
  NIBBLE_HOST_DEVICE constexpr std::int64_t moved(std::int64_t x) const {
    return halvings < 0 ? 2 * x : shift_nearest(x, halvings);
  }
};

}  // namespace nibble::inline backend
