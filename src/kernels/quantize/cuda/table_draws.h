// SPDX-License-Identifier: Apache-2.0
// Which end of a codebook's cell a draw takes: what kernels compute, and what the host can compute
// as well. Margins are counted in 2^-16.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "kernels/simd/cuda_lane.cuh"

namespace nibble::cuda {

inline constexpr float kMarginUnits = 0x1p16F;

// f - u within 2^-21, where f = excess / width and u = (draw + 1)·2^-r, draws as aligned_draws has
// them. `inverse_width` is in the margin's units.
template <bool kShort>
NIBBLE_INLINE float draw_margin(float excess, float inverse_width, std::uint32_t draw) {
  if constexpr (kShort) {
    const float minus_u = Lane::floats(0x4B000000U | draw) - (0x1p23F + kMarginUnits);
    return std::fma(excess, inverse_width, minus_u);
  } else {
    const float minus_one_less_u = Lane::floats(0xC7800000U + (draw >> 9));
    return std::fma(excess, inverse_width, minus_one_less_u) + kMarginUnits;
  }
}

// Below it the definition has to decide: the error above, and that of a quotient which stands for
// an entry v, 2^-23·|v|, as a share of the cell. So an entry stays where a draw is decided.
inline float undecided_margin(std::span<const float> entries) {
  float most = 0;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    const float magnitude = std::max(std::fabs(entries[i - 1]), std::fabs(entries[i]));
    most = std::max(most, magnitude / (entries[i] - entries[i - 1]));
  }
  return kMarginUnits * (0x1p-21F + 0x1.1p-23F * most);
}

}  // namespace nibble::cuda
