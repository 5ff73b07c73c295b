// SPDX-License-Identifier: Apache-2.0
// Numbers and small laws of integer training that training, frozen networks and emitted C share.
// docs/integer-training.md has them in words. There is no float arithmetic here: a float is looked
// at by its bits.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nibble/core/host_device.h"

namespace nibble::inline laws {

// How many bits a magnitude needs, the shift that brings it down to 1: 0 for m <= 1, otherwise the
// bit length of m - 1 (ceil(log2 m)): 2^7 needs 7 bits, 2^7 + 1 needs 8.
NIBBLE_HOST_DEVICE constexpr int bits_of(std::uint64_t magnitude) {
#ifdef __CUDA_ARCH__
  return magnitude <= 1 ? 0 : 64 - __clzll(static_cast<long long>(magnitude - 1));
#else
  return magnitude <= 1 ? 0 : static_cast<int>(std::bit_width(magnitude - 1));
#endif
}

// Products of mantissas within ±127 that an int32 holds for certain: ⌊(2^31 - 1) / 127²⌋.
inline constexpr std::int64_t kSafeTerms = 133'144;

// Places by which sums of products, or a bias, are lifted at most to meet: 2^31·2^28 is far from
// 2^63.
inline constexpr int kBiasReach = 28;

// 2^product_lift·Σ x·w + 2^bias_lift·b counts in units of 2^exponent.
struct SumScale {
  int exponent = 0;
  int product_lift = 0;  // 0 to kBiasReach
  int bias_lift = 0;     // 0 to kBiasReach
  bool operator==(const SumScale&) const = default;
};

// Of products in units of 2^P and a bias in units of 2^B: c = max(min(P, B), P - 28), lifts P - c
// and min(max(B - c, 0), 28). Exact while P and B are at most 28 apart; a bias further below counts
// in coarser units than its own, one further above is held at 28 places.
NIBBLE_HOST_DEVICE constexpr SumScale product_scale(int product_exponent, int bias_exponent) {
  constexpr int kReach = kBiasReach;  // a GPU has no address of the other
  const int exponent =
      std::max(std::min(product_exponent, bias_exponent), product_exponent - kReach);
  const int lift = bias_exponent - exponent;
  return {.exponent = exponent,
          .product_lift = product_exponent - exponent,
          .bias_lift = lift < 0 ? 0 : (lift > kReach ? kReach : lift)};
}

// Means are sums times ⌊2^15 / count⌉, in units 2^-15 of what is summed.
inline constexpr int kMeanBits = 15;

// ⌊2^bits / count⌉ = ⌊(2^bits + ⌊count / 2⌋) / count⌋, count >= 1, bits <= 62.
constexpr std::int64_t mean_factor(std::int64_t count, std::int64_t bits) {
  return ((std::int64_t{1} << bits) + count / 2) / count;
}
constexpr std::int64_t mean_factor(std::int64_t count) {
  return mean_factor(count, kMeanBits);
}

// What relu6 cuts mantissas to in units of 2^e: 6·2^-e for -4 <= e <= 0, ⌊6 / 2^e⌋ above (0 from 3
// on). Below -4 no mantissa reaches 6: 127, nothing is cut.
NIBBLE_HOST_DEVICE constexpr std::int8_t relu6_cut(int exponent) {
  if (exponent < -4) return 127;
  return static_cast<std::int8_t>(exponent <= 0 ? 6 << -exponent : 6 >> std::min(exponent, 3));
}

// k of a dropout's share 1 - 2^-k, k = 0 to 4 (0, 0.5, 0.75, 0.875, 0.9375): what stays counts 2^k
// times. -1: the share is none of these.
constexpr int halvings_of(float share) {
  constexpr std::array<std::uint32_t, 5> kShares = {0x00000000, 0x3F000000, 0x3F400000, 0x3F600000,
                                                    0x3F700000};
  const auto bits = std::bit_cast<std::uint32_t>(share);
  for (std::size_t k = 0; k < kShares.size(); ++k) {
    if (bits == kShares[k]) return static_cast<int>(k);
  }
  return -1;
}

// Fractions of an octave, for powers of two in integers: round(2^15·2^(j/256)), j < 256.
std::span<const std::uint16_t> power_table();

}  // namespace nibble::inline laws
