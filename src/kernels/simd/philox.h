// SPDX-License-Identifier: Apache-2.0
// Philox draws in the vector vocabulary, many counters at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/simd/inline.h"
#include "nibble/core/philox.h"

namespace nibble::inline kernels {

// The four words of kBatch · kCounters counters from `first` on, in order; their upper halves are
// those of `first`. A round waits for its multiplications, so several vectors of counters go
// through it side by side. What only depends on step, stream and upper half is computed once a
// stretch.
template <class V, std::size_t kBatch = V::kBatch>
NIBBLE_INLINE void philox_blocks(const RandomKey& key, std::uint64_t first, std::uint32_t upper,
                                 std::uint32_t* out) {
  using W = typename V::W;
  const W m0 = V::wide(0xD2511F53U);
  const W m1 = V::wide(0xCD9E8D57U);
  W c0[kBatch], c1[kBatch], c2[kBatch], c3[kBatch];
  for (std::size_t b = 0; b < kBatch; ++b) {
    c0[b] = V::counters(first + b * V::kCounters);
    c1[b] = V::wide(upper);
    c2[b] = V::wide(key.step);
    c3[b] = V::wide(key.stream);
  }
  auto k0 = static_cast<std::uint32_t>(key.seed);
  auto k1 = static_cast<std::uint32_t>(key.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (std::size_t b = 0; b < kBatch; ++b) {
      const W p0 = V::multiply_low(c0[b], m0);
      const W p1 = V::multiply_low(c2[b], m1);
      c0[b] = V::xor3(V::high_half(p1), c1[b], V::wide(k0));
      c1[b] = p1;
      c2[b] = V::xor3(V::high_half(p0), c3[b], V::wide(k1));
      c3[b] = p0;
    }
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  for (std::size_t b = 0; b < kBatch; ++b) {
    V::store_blocks(out + 4 * V::kCounters * b, c0[b], c1[b], c2[b], c3[b]);
  }
}

// The same where a carry into the upper half may come in between.
template <class V, std::size_t kBatch = V::kBatch>
NIBBLE_INLINE void any_philox_blocks(const RandomKey& key, std::uint64_t first, std::uint32_t upper,
                                     std::uint32_t* out) {
  constexpr std::size_t kCounters = kBatch * V::kCounters;
  if ((first + kCounters - 1) >> 32 == upper) [[likely]] {
    philox_blocks<V, kBatch>(key, first, upper, out);
    return;
  }
  for (std::size_t i = 0; i < 4 * kCounters; ++i) out[i] = draw32(key, 4 * first + i);
}

}  // namespace nibble::inline kernels
