// SPDX-License-Identifier: Apache-2.0
// Sums up the weights that meet nothing.
#include <map>

#include "engine/cuda/product_parts.h"

namespace nibble::inline engine {
namespace {

// By tap: whether it lies outside of the picture for the window of an output.
std::vector<bool> taps_outside(const PlacedProduct& parts, std::int64_t y, std::int64_t x) {
  const Conv2d& window = parts.window;
  std::vector<bool> taps;
  for (std::int64_t ky = 0; ky < window.kernel.y; ++ky) {
    for (std::int64_t kx = 0; kx < window.kernel.x; ++kx) {
      const std::int64_t iy = y * window.stride.y - window.padding.y + ky * window.dilation.y;
      const std::int64_t ix = x * window.stride.x - window.padding.x + kx * window.dilation.x;
      taps.push_back(iy < 0 || iy >= parts.in.picture.height || ix < 0 ||
                     ix >= parts.in.picture.width);
    }
  }
  return taps;
}

// Σ w over the depth: (tap, filled channels)
std::vector<std::int64_t> weights_of_taps(const ProductParts& parts) {
  const auto pitch = static_cast<std::size_t>(parts.out.filled_channels());
  std::vector<std::int64_t> sums(static_cast<std::size_t>(parts.taps()) * pitch);
  for (std::int64_t o = 0; o < parts.window.channels; ++o) {
    for (std::int64_t tap = 0; tap < parts.taps(); ++tap) {
      for (std::int64_t k = 0; k < parts.depth(); ++k)
        sums[static_cast<std::size_t>(tap) * pitch + static_cast<std::size_t>(o)] +=
            parts.weight(o, tap, k);
    }
  }
  return sums;
}

}  // namespace

// Sums are Σ w·byte + base·Σ w over all taps, the bias having the second; a tap outside has the
// byte 0, so that its base·Σ w is too much.
OutsideTable outside_table(const ProductParts& parts) {
  const auto pitch = static_cast<std::size_t>(parts.out.filled_channels());
  const std::vector<std::int64_t> weights = weights_of_taps(parts);
  OutsideTable table{.sums = std::vector<std::int32_t>(pitch), .rows = {}};
  std::map<std::vector<bool>, std::int32_t> known = {
      {std::vector<bool>(static_cast<std::size_t>(parts.taps())), 0}};
  for (std::int64_t y = 0; y < parts.out.picture.height; ++y) {
    for (std::int64_t x = 0; x < parts.out.picture.width; ++x) {
      const std::vector<bool> outside = taps_outside(parts, y, x);
      const auto [row, is_new] =
          known.emplace(outside, static_cast<std::int32_t>(table.sums.size()));
      table.rows.push_back(row->second);
      if (!is_new) continue;
      for (std::size_t o = 0; o < pitch; ++o) {
        std::int64_t sum = 0;
        for (std::size_t tap = 0; tap < outside.size(); ++tap)
          sum += outside[tap] ? weights[tap * pitch + o] : 0;
        table.sums.push_back(static_cast<std::int32_t>(-parts.in.base * sum));
      }
    }
  }
  return table;
}

}  // namespace nibble::inline engine
