// SPDX-License-Identifier: Apache-2.0
// One step of a number in training, with momentum and decay, in integers.
#pragma once

#include <cstdint>

#include "laws/integer_division.h"
#include "laws/round_shift.h"
#include "nibble/core/host_device.h"

namespace nibble::inline laws {

inline constexpr int kRateBits = 15;  // of the mantissas of rate and decay
inline constexpr int kMomentumBits = 8;
inline constexpr std::int64_t kMostFine = std::int64_t{1} << 30;  // |f|, |m| and parts of m
inline constexpr std::int64_t kMostSum = std::int64_t{1} << 47;   // times a rate: below 2^62
inline constexpr int kMostPartShift = 62;

NIBBLE_HOST_DEVICE constexpr std::int64_t held_within(std::int64_t x, std::int64_t limit) {
  return x < -limit ? -limit : (x > limit ? limit : x);
}

// x / 2^s with the rounding given, held within ±2^30. Below s = 1 it grows; above 62 nothing is
// left of |x| < 2^62.
NIBBLE_HOST_DEVICE constexpr std::int64_t scaled_part(ShiftRounding rounding, std::int64_t x, int s,
                                                      std::uint32_t draw) {
  if (x == 0 || s > kMostPartShift) return 0;
  if (s > 0) return held_within(round_shift(rounding, x, s, draw), kMostFine);
  const std::int64_t room = s < -kMostPartShift ? 0 : kMostFine >> -s;
  if (x > room) return kMostFine;
  if (x < -room) return -kMostFine;
  return x * (std::int64_t{1} << -s);
}

// A number in training, and what of its last steps remains, the one in
// units of 2^-step_shift of the other's.
struct FineNumber {
  std::int32_t fine = 0;
  std::int32_t momentum = 0;
};

struct SgdStep {
  std::int64_t rate = 0;   // 15 bits
  int shift = 0;           // of gradient · rate
  std::int64_t decay = 0;  // 15 bits
  int decay_shift = 0;     // of number · decay
  int momentum = 0;        // 256ths
  int step_shift = 0;      // from the unit of momentum to that of the number: 0 to 15
  ShiftRounding rounding = ShiftRounding::stochastic;
  bool looks_ahead = false;  // Nesterov's momentum

  // a = g·rate + f·decay, m = m·M/256 + a, then f -= m or, looking ahead, f -= m·M/256 + a with the
  // new m. Gradient and decay are rounded by the same draw, from its first bit on: each is right in
  // the mean. The step is rounded by its last 16 bits.
  NIBBLE_HOST_DEVICE constexpr void move(FineNumber& number, std::int64_t gradient,
                                         std::uint32_t draw) const {
    const std::int64_t sum = held_within(gradient, kMostSum);
    const std::int64_t added = scaled_part(rounding, sum * rate, shift, draw) +
                               scaled_part(rounding, number.fine * decay, decay_shift, draw);
    number.momentum =
        static_cast<std::int32_t>(held_within(kept(number.momentum) + added, kMostFine));
    const std::int64_t step = looks_ahead ? kept(number.momentum) + added : number.momentum;
    const std::int64_t rounded =
        step_shift == 0 ? step : scaled_part(rounding, step, step_shift, draw << 16);
    number.fine = static_cast<std::int32_t>(held_within(number.fine - rounded, kMostFine));
  }

 private:
  NIBBLE_HOST_DEVICE constexpr std::int64_t kept(std::int64_t before) const {
    return shift_toward_zero(before * momentum, kMomentumBits);
  }
};

}  // namespace nibble::inline laws
