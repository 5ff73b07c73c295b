// SPDX-License-Identifier: Apache-2.0
// In which cell of a codebook a number lies, by one look instead of a search: slots of even width
// over the thresholds, none of which has two of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/quantize/cuda/counting.h"

namespace nibble::cuda {

inline constexpr std::uint32_t kSlots = 32;  // one a bank of shared memory

struct EvenCells {
  bool serves = false;  // otherwise the thresholds have to be searched
  float factor = 1;     // from a number to 0 … 1 over the thresholds
  float addend = 0;
  // How far from a threshold no error of a guessed quotient matters. Negative where a guess may be
  // in another slot than the threshold that it is near.
  float unsure = -1;
  float thresholds[kSlots] = {};      // of the slot: NaN where it has none
  std::uint32_t before[kSlots] = {};  // thresholds in the slots before
};

// 0 below it and for NaN, 1 above it.
NIBBLE_INLINE float saturated_sum(float x, float factor, float addend) {
#ifdef __CUDA_ARCH__
  return __saturatef(__fmaf_rn(x, factor, addend));
#else
  const float sum = std::fma(x, factor, addend);
  return sum > 0 ? std::min(sum, 1.0F) : 0.0F;
#endif
}

// Four times the slot, which is where its word stands. Never falls where x rises: a number in a
// later slot than a threshold is not below that.
NIBBLE_INLINE std::uint32_t slot_bytes(float factor, float addend, float x) {
  constexpr std::uint32_t kLast = 4 * kSlots - 1;
  const float at = saturated_sum(x, factor, addend);
  return Lane::bits(std::fma(at, static_cast<float>(kLast), kCounting)) & (kLast & ~3U);
}

// The word of a slot in one of the arrays.
template <class Word>
NIBBLE_INLINE Word in_slot(const Word (&words)[kSlots], std::uint32_t bytes) {
  static_assert(sizeof(Word) == 4);
#ifdef __CUDA_ARCH__
  return *reinterpret_cast<const Word*>(reinterpret_cast<const char*>(words) + bytes);
#else
  return words[bytes / 4];
#endif
}

// Of ascending thresholds, NaN behind the last.
inline EvenCells even_cells(std::span<const float> padded) {
  EvenCells cells;
  const auto end = std::ranges::find_if(padded, [](float t) { return std::isnan(t); });
  const auto thresholds = padded.first(static_cast<std::size_t>(end - padded.begin()));
  if (thresholds.empty()) return cells;
  if (thresholds.size() > 1) cells.factor = 1 / (thresholds.back() - thresholds.front());
  cells.addend = -thresholds.front() * cells.factor;
  std::ranges::fill(cells.thresholds, std::numeric_limits<float>::quiet_NaN());
  for (const float threshold : thresholds) {
    const std::uint32_t slot = slot_bytes(cells.factor, cells.addend, threshold) / 4;
    if (!std::isnan(cells.thresholds[slot])) return cells;
    cells.thresholds[slot] = threshold;
    for (std::uint32_t later = slot + 1; later < kSlots; ++later) ++cells.before[later];
  }
  cells.serves = true;
  // x·fl32(1/s) and fl32(x/s) are less than 2^-22 of either apart.
  const float unsure =
      0x1p-21F * std::max(std::fabs(thresholds.front()), std::fabs(thresholds.back()));
  const bool stays = std::ranges::all_of(thresholds, [&](float t) {
    return slot_bytes(cells.factor, cells.addend, t - unsure) ==
           slot_bytes(cells.factor, cells.addend, t + unsure);
  });
  if (stays) cells.unsure = unsure;
  return cells;
}

}  // namespace nibble::cuda
