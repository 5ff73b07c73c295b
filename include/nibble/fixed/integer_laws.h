// SPDX-License-Identifier: Apache-2.0
// Small laws of integer networks that trainer, engine, emitted C and every device share.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace nibble {

// Products of values within ±127 that an int32 holds for certain: ⌊(2^31 - 1) / 127²⌋.
inline constexpr std::int64_t kSafeTerms = 133'144;

// Places by which sums or biases are lifted at most: 2^31·2^28 is far from 2^63.
inline constexpr int kBiasReach = 28;

// A product's sums and a bias in one unit, 2^exponent: sum·2^product_lift + bias·2^bias_lift.
struct SumScale {
  int exponent = 0;
  int product_lift = 0;
  int bias_lift = 0;
};

// The smaller of the two exponents, so that the sum is exact; beyond kBiasReach apart the bias is
// held there.
constexpr SumScale product_scale(int product_exponent, int bias_exponent) {
  const int exponent =
      std::max(std::min(product_exponent, bias_exponent), product_exponent - kBiasReach);
  return {exponent, product_exponent - exponent,
          std::clamp(bias_exponent - exponent, 0, kBiasReach)};
}

// A mean is a sum times ⌊2^15 / count⌉, in units 2^-15 of the operands'.
inline constexpr int kMeanBits = 15;
constexpr std::int64_t mean_factor(std::int64_t count) {
  return ((std::int64_t{1} << kMeanBits) + count / 2) / count;
}

// 6 in units of 2^exponent, toward zero; 127 where no mantissa reaches it: nothing is cut.
constexpr std::int8_t relu6_cut(int exponent) {
  if (exponent < -4) return 127;
  return static_cast<std::int8_t>(exponent <= 0 ? 6 << -exponent : 6 >> std::min(exponent, 3));
}

// k of a dropped share 1 - 2^-k, known by its bits without float arithmetic; -1: another share.
constexpr int halvings_of(float share) {
  constexpr std::array kShares = {0.0F, 0.5F, 0.75F, 0.875F, 0.9375F};
  for (std::size_t k = 0; k < kShares.size(); ++k) {
    if (std::bit_cast<std::uint32_t>(share) == std::bit_cast<std::uint32_t>(kShares[k]))
      return static_cast<int>(k);
  }
  return -1;
}

}  // namespace nibble
