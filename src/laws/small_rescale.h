// SPDX-License-Identifier: Apache-2.0
// Rescales that 16-bit words hold exactly, or 32 bits in two halves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "laws/rescale.h"
#include "laws/rescale_ties.h"

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

// Of the rounding that ends a rescale: what is left of its shift below 2^16.
constexpr int last_word_shift(int shift) {
  return shift + word_multiplier_shift(shift) - 16;
}

// Whether clamp(R(x·m, s), y) of every x in `sum` is the clamped ((x'·m') >> 16 rounded to its bits
// before s + k - 16), with x' = x cut to 16 bits, m' = m·2^k below 2^15 and k as above. What is cut
// must be beyond the clamp with the words' last number, too.
constexpr bool fits_words(RescaleRange sum, std::span<const std::int64_t> multipliers, int shift,
                          RescaleRange y) {
  constexpr std::int64_t kMost = 32767;
  const int more = word_multiplier_shift(shift);
  if (shift < 1 || last_word_shift(shift) > 15) return false;
  return std::ranges::all_of(multipliers, [&](std::int64_t m) {
    const auto last = [&](std::int64_t x) { return rounded_shift(x * m, shift); };
    if (m < 0 || m > kMost >> more) return false;
    return m == 0 || ((sum.high <= kMost || last(kMost) >= y.high) &&
                      (sum.low >= -kMost || last(-kMost) <= y.low));
  });
}

// Whether clamp(R((x + R(a·f, t))·m, s), y) takes products of words alone, all sums and products
// being below 2^31. What is added is (a·f' + a·f" + 2^(t-1)) >> t, f = f' + f" two words, and a the
// word a + zero less zero·f in the end: half up, as R does it but for ties below 0. The total
// z = z"·2^16 + z' times m' = m·2^k is rounded from ((z'·m') >> 16) + z"·m', cut to a word that
// has a byte before its last bits. Where m is 0 f does not matter.
constexpr bool fits_halves(std::span<const std::int64_t> multipliers, int shift, RescaleRange y,
                           RescaleRange addend, std::span<const std::int64_t> factors,
                           int addend_shift) {
  constexpr std::int64_t kMost = 32767;
  constexpr int kBelowByte = 7;
  if (shift < 1 || last_word_shift(shift) > kBelowByte || y.low != 0 || y.high > 255) return false;
  if (addend.low < -255 || addend.high > 255) return false;
  const auto most_below = static_cast<std::uint64_t>(std::max<std::int64_t>(-addend.low, 0));
  const std::size_t columns = std::max(multipliers.size(), factors.size());
  for (std::size_t i = 0; i < columns; ++i) {
    const std::int64_t m = multipliers[multipliers.size() == 1 ? 0 : i];
    const std::int64_t f = factors[factors.size() == 1 ? 0 : i];
    if (m < 0 || m > kMost >> word_multiplier_shift(shift)) return false;
    if (m == 0) continue;
    if (f < 0 || f > 2 * kMost) return false;
    if (has_ties(most_below, static_cast<std::uint64_t>(f), addend_shift)) return false;
  }
  return true;
}

}  // namespace nibble::inline laws
