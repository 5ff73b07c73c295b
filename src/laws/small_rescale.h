// SPDX-License-Identifier: Apache-2.0
// Rescales that 16-bit words hold exactly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "laws/rescale.h"

namespace nibble::inline laws {

struct RescaleRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
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

}  // namespace nibble::inline laws
