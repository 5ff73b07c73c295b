// SPDX-License-Identifier: Apache-2.0
// Independent products of VNNI, enough of them to hide how long each takes.
#include <immintrin.h>

#include "kernels/products/peak.h"

namespace nibble::inline kernels::avx512vnni {

std::int64_t run_peak(std::int64_t rounds) {
  constexpr int kChains = 16;
  const __m512i factor = _mm512_set1_epi64(rounds);
  __m512i sums[kChains];  // unlike each other, or the compiler would make one of them
  for (int j = 0; j < kChains; ++j) sums[j] = _mm512_set1_epi32(j);
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kChains; ++j) sums[j] = _mm512_dpbusd_epi32(sums[j], factor, factor);
  }
  for (int j = 0; j < kChains; ++j) __asm__ volatile("" : : "v"(sums[j]));
  return rounds * kChains * 128;
}

}  // namespace nibble::inline kernels::avx512vnni
