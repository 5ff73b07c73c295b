// SPDX-License-Identifier: Apache-2.0
// One channel to one on AVX2, eight channels at a time, values and weights as 16 bits; for the file
// of that path.
#pragma once

#include <immintrin.h>

#include "kernels/engine/x86_depthwise_columns.h"

namespace nibble::inline kernels::avx2 {

// Eight channels of `Pixels` pixels.
template <class Path, int Pixels>
void depthwise_channels(const DepthwiseTile& tile, int first, int channel) {
  const std::int64_t quads = tile.quads();
  const std::int64_t column = quads * kFilterColumns * 4;  // bytes
  const auto load = [](const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  };
  __m256i sums[Pixels];
#pragma GCC unroll 4
  for (int p = 0; p < Pixels; ++p) sums[p] = load(tile.bias + channel);
  const std::int8_t* weights = tile.weights + channel * 4;
  for (std::int64_t x = 0; x < tile.kernel_columns; ++x) {
    const std::uint8_t* from =
        tile.scratch + (first * tile.stride + x * tile.dilation) * column + channel * 4;
    for (std::int64_t q = 0; q < quads; ++q, from += kFilterColumns * 4) {
      const __m256i both = load(weights);
      const __m256i odd = _mm256_srai_epi16(both, 8);
      const __m256i even = _mm256_srai_epi16(_mm256_slli_epi16(both, 8), 8);
      weights += tile.blocks * 64;
#pragma GCC unroll 4
      for (int p = 0; p < Pixels; ++p) {
        const __m256i values = load(from + p * tile.stride * column);
        const __m256i evens = _mm256_and_si256(values, _mm256_set1_epi16(255));
        sums[p] = _mm256_add_epi32(sums[p], _mm256_madd_epi16(evens, even));
        sums[p] = _mm256_add_epi32(sums[p], _mm256_madd_epi16(_mm256_srli_epi16(values, 8), odd));
      }
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < Pixels; ++p) {
    auto* to = reinterpret_cast<__m256i*>(tile.sums + (first + p) * kFilterColumns + channel);
    _mm256_storeu_si256(to, sums[p]);
  }
}

template <class Path>
void avx2_depthwise(const DepthwiseTile& tile) {
  DepthwiseColumns<Turned32<Path>>::gather(tile);
  constexpr int kPixels = 4;
  for (int channel = 0; channel < tile.blocks * kFilterOutputs; channel += 8) {
    int first = 0;
    for (; first + kPixels <= tile.pixels; first += kPixels)
      depthwise_channels<Path, kPixels>(tile, first, channel);
    for (; first < tile.pixels; ++first) depthwise_channels<Path, 1>(tile, first, channel);
  }
}

}  // namespace nibble::inline kernels::avx2
