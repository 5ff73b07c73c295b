// SPDX-License-Identifier: Apache-2.0
// Philox draws for a stretch of elements, many counters at a time.
#pragma once

#include <cstring>

#include "kernels/quantize/kernels.h"

namespace nibble {

// The four words of kCounters counters from `first` on, in order.
template <class V>
void philox_blocks(const RandomKey& key, std::uint64_t first, std::uint32_t* out) {
  using W = typename V::W;
  const W m0 = V::wide(0xD2511F53U);
  const W m1 = V::wide(0xCD9E8D57U);
  const W group = V::counters(first);
  W c0 = group;
  W c1 = V::high_half(group);
  W c2 = V::wide(key.step);
  W c3 = V::wide(key.stream);
  auto k0 = static_cast<std::uint32_t>(key.seed);
  auto k1 = static_cast<std::uint32_t>(key.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const W p0 = V::multiply_low(c0, m0);
    const W p1 = V::multiply_low(c2, m1);
    c0 = V::xor3(V::high_half(p1), c1, V::wide(k0));
    c1 = p1;
    c2 = V::xor3(V::high_half(p0), c3, V::wide(k1));
    c3 = p0;
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  V::store_blocks(out, c0, c1, c2, c3);
}

template <class V>
const std::uint32_t* fill_draws(const RandomKey& key, int random_bits, std::uint64_t first,
                                std::size_t count, std::uint32_t* out) {
  constexpr std::size_t kWords = 4 * V::kCounters;
  if (random_bits > 16) {
    const std::size_t offset = first % 4;
    std::uint64_t counter = first / 4;
    for (std::size_t i = 0; i < offset + count; i += kWords, counter += V::kCounters) {
      philox_blocks<V>(key, counter, out + i);
      if (random_bits == 32) continue;
      for (std::size_t j = i; j < i + kWords; ++j) out[j] >>= 32 - random_bits;
    }
    return out + offset;
  }
  const std::size_t offset = first % 8;
  std::uint64_t counter = first / 8;
  for (std::size_t i = 0; i < offset + count; i += 2 * kWords, counter += V::kCounters) {
    std::uint32_t words[kWords];
    std::uint16_t halves[2 * kWords];  // low half first, as little-endian memory has it
    philox_blocks<V>(key, counter, words);
    std::memcpy(halves, words, sizeof words);
    for (std::size_t j = 0; j < 2 * kWords; ++j)
      out[i + j] = static_cast<std::uint32_t>(halves[j]) >> (16 - random_bits);
  }
  return out + offset;
}

}  // namespace nibble
