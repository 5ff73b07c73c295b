// SPDX-License-Identifier: Apache-2.0
// Philox draws for a stretch of elements, many counters at a time.
#pragma once

#include <cstring>

#include "kernels/quantize/kernels.h"
#include "kernels/simd/philox.h"

namespace nibble::inline kernels {

// Asks for the cache lines of elements [from, from + count) below `end`.
template <class V>
NIBBLE_INLINE void prefetch(const float* input, std::size_t from, std::size_t end,
                            std::size_t count) {
  constexpr std::size_t kLine = 16;
  for (std::size_t i = from; i < from + count && i < end; i += kLine) __builtin_prefetch(input + i);
}

template <class V>
const std::uint32_t* fill_draws(const RandomKey& shared_key, int random_bits, std::uint64_t first,
                                std::size_t count, std::uint32_t* out, const float* upcoming) {
  constexpr std::size_t kCounters = V::kBatch * V::kCounters;
  constexpr std::size_t kWords = 4 * kCounters;
  const RandomKey key = shared_key;  // a copy that the stores to `out` cannot reach
  const std::size_t lanes = random_bits > 16 ? 4 : 8;  // draws of a counter
  const std::size_t offset = first % lanes;
  std::uint64_t counter = first / lanes;
  const auto upper = static_cast<std::uint32_t>(counter >> 32);
  if (random_bits > 16) {
    for (std::size_t i = 0; i < offset + count; i += kWords, counter += kCounters) {
      prefetch<V>(upcoming, i, count, kWords);
      any_philox_blocks<V>(key, counter, upper, out + i);
    }
    if (random_bits < 32) {
      for (std::size_t i = 0; i < offset + count; ++i) out[i] >>= 32 - random_bits;
    }
    return out + offset;
  }
  for (std::size_t i = 0; i < offset + count; i += 2 * kWords, counter += kCounters) {
    std::uint32_t words[kWords];
    std::uint16_t halves[2 * kWords];  // low half first, as little-endian memory has it
    prefetch<V>(upcoming, i, count, 2 * kWords);
    any_philox_blocks<V>(key, counter, upper, words);
    std::memcpy(halves, words, sizeof words);
    for (std::size_t j = 0; j < 2 * kWords; ++j) {
      out[i + j] = static_cast<std::uint32_t>(halves[j]) >> (16 - random_bits);
    }
  }
  return out + offset;
}

}  // namespace nibble::inline kernels
