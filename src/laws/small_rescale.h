// SPDX-License-Identifier: Apache-2.0
// Rescales that few bits hold: sums as 16-bit words, or sums of two terms as floats, exactly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "laws/rescale.h"

namespace nibble::inline laws {

struct RescaleRange {
  std::int64_t low = 0;
  std::int64_t high = 0;

  // Whether the range lies within ±most.
  constexpr bool is_within(std::int64_t most) const { return -most <= low && high <= most; }
};

// How many bits words gain in front of a multiplier, so that no bit of half a step lies in the
// lower half of a product of words.
constexpr int word_multiplier_shift(int shift) {
  return std::max(17 - shift, 0);
}

// Whether clamp(R(x·m, s), y) of every x in `sum` is the clamped ((x'·m') >> 16 rounded to its bits
// before s + k - 16), with x' = x cut to 16 bits, m' = m·2^k below 2^15 and k as above. What is cut
// must be beyond the clamp with the words' last number, too.
constexpr bool fits_words(RescaleRange sum, std::span<const std::int64_t> multipliers, int shift,
                          RescaleRange y) {
  constexpr std::int64_t kMost = 32767;
  const int more = word_multiplier_shift(shift);
  if (shift < 1 || shift + more > 31) return false;
  return std::ranges::all_of(multipliers, [&](std::int64_t m) {
    const auto last = [&](std::int64_t x) { return rounded_shift(x * m, shift); };
    if (m < 0 || m > kMost >> more) return false;
    return m == 0 || ((sum.high <= kMost || last(kMost) >= y.high) &&
                      (sum.low >= -kMost || last(-kMost) <= y.low));
  });
}

// Whole numbers within ±2^22 are the last bits of floats around 1.5·2^23, whose last bit is 1.
inline constexpr std::int64_t kFloatSum = (std::int64_t{1} << 22) - 1;
inline constexpr float kFloatMiddle = 12582912;  // 1.5·2^23

// Whether clamp(R((x + R(a·f, t))·m, s), 0, high) is exact in floats, for every sum x + R(a·f, t)
// and every a of such ranges.
// - With v = 1.5·2^23 + the sum, v·m / 2^s + (1/2 - 1.5·2^23·m / 2^s) is one float operation; its
//   second term is a float if 3·2^23·m / 2^s is below 2^24. Below 2^(24-s) the result, a multiple
//   of 2^-s, is a float; what is not below 0 or high + 1 stays so when it is rounded.
// - R(a·f, t) with t = 0 is a·f, with t = 1 and a >= 0 it is a·f / 2 rounded up: the sum of
//   1.5·2^23 and a·f / 2^t, rounded up.
constexpr bool fits_floats(RescaleRange sum, std::span<const std::int64_t> multipliers, int shift,
                           RescaleRange y, RescaleRange a, std::span<const std::int64_t> factors,
                           int addend_shift) {
  if (shift < 1 || shift > 16 || y.low != 0 || y.high >= std::int64_t{1} << (24 - shift) ||
      !sum.is_within(kFloatSum) || addend_shift > (a.low < 0 ? 0 : 1)) {
    return false;
  }
  return std::ranges::all_of(
             multipliers,
             [&](std::int64_t m) { return m >= 0 && 3 * m < std::int64_t{2} << shift; }) &&
         std::ranges::all_of(factors, [&](std::int64_t f) {
           return f >= 0 && f <= 65535 && RescaleRange{a.low * f, a.high * f}.is_within(kFloatSum);
         });
}

}  // namespace nibble::inline laws
