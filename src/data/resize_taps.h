// SPDX-License-Identifier: Apache-2.0
// The weights of the triangle filter along one axis; data/picture.h has them in words.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace nibble::inline data {

inline constexpr std::int64_t kMostResized = 4096;  // pixels a side

// The pixels that one pixel of the result takes.
//
// Their weights sum to at most 2S(S/m + 1). Both axes shrink, to 16(hw)²/(m m') <= 2^56 with at
// most 2^26 pixels, or both grow, with m <= 2^12 and m' <= 2^27, to at most 2^43: sums of bytes
// times weights of both axes stay below 2^64.
struct Taps {
  std::int64_t first = 0;
  std::vector<std::uint64_t> weights;
  std::uint64_t sum = 0;
};

inline Taps taps_of(std::int64_t n, std::int64_t m, std::int64_t i) {
  const std::int64_t reach = 2 * std::max(n, m);
  const std::int64_t centre = (2 * i + 1) * n;
  Taps taps;
  // j from the first with (2j+1)m > centre - reach.
  const std::int64_t low = centre - reach - m;
  taps.first = low < 0 ? 0 : low / (2 * m) + 1;
  for (std::int64_t j = taps.first; j < n; ++j) {
    const std::int64_t distance = (2 * j + 1) * m - centre;
    if (distance >= reach) break;
    taps.weights.push_back(static_cast<std::uint64_t>(reach - std::max(distance, -distance)));
    taps.sum += taps.weights.back();
  }
  return taps;
}

// What one axis of a picture becomes: of `resized` pixels `count` from `first` are kept.
struct Axis {
  std::int64_t resized = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

inline std::vector<Taps> all_taps(std::int64_t n, const Axis& axis) {
  std::vector<Taps> list;
  for (std::int64_t i = 0; i < axis.count; ++i)
    list.push_back(taps_of(n, axis.resized, axis.first + i));
  return list;
}

// sum / weights, ties up.
inline std::uint8_t divided(std::uint64_t sum, std::uint64_t weights) {
  const std::uint64_t rest = sum % weights;
  return static_cast<std::uint8_t>(sum / weights + (rest >= weights - rest ? 1 : 0));
}

}  // namespace nibble::inline data
