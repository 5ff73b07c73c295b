// SPDX-License-Identifier: Apache-2.0
// Rescales tiles on AVX-512 by the law that each needs; for the files of paths that have it.
#pragma once

#include "kernels/engine/x86_avx512_rescale_law.h"

namespace nibble::inline kernels {
namespace {  // a copy for each file: they are compiled with flags of their own

// The largest of `window` sums that are `stride` apart, of 16 columns.
[[gnu::always_inline]] inline __m512i largest_sums(const std::int32_t* sums, int window,
                                                   std::int64_t stride) {
  __m512i most = _mm512_loadu_si512(sums);
  for (int w = 1; w < window; ++w)
    most = _mm512_max_epi32(most, _mm512_loadu_si512(sums + w * stride));
  return most;
}

// Calls body<Law>() with the Avx512Rescale that the tile needs.
template <class Body>
void with_avx512_rescale(const RescaleTile& tile, const Body& body) {
  using enum FilterStorage;
  using enum RescaleWidth;
  const auto for_out = [&]<FilterStorage Addend, RescaleWidth Width, bool Positive,
                           bool Signed = Addend == u8>() {
    if (tile.storage == u8)
      return body.template operator()<Avx512Rescale<Addend, u8, Width, Positive, Signed>>();
    if (tile.storage == u4)
      return body.template operator()<Avx512Rescale<Addend, u4, Width, Positive, Signed>>();
    if constexpr (Width != words && Width != halves)
      return body.template operator()<Avx512Rescale<Addend, s32, Width, Positive, Signed>>();
  };
  const auto for_range = [&]<FilterStorage Addend>() {
    if (tile.is_wide) return for_out.template operator()<Addend, wide, false>();
    if (Addend == u8 && tile.addend.zero == 0 && is_positive(tile))
      return for_out.template operator()<Addend, narrow, true, false>();
    if (is_positive(tile)) return for_out.template operator()<Addend, narrow, true>();
    return for_out.template operator()<Addend, narrow, false>();
  };
  if (width_of(tile) == halves) {
    if (tile.addend.storage == u4) return for_out.template operator()<u4, halves, true, false>();
    return tile.addend.zero == 0 ? for_out.template operator()<u8, halves, true, false>()
                                 : for_out.template operator()<u8, halves, true, true>();
  }
  if (width_of(tile) == words) {
    return is_positive(tile) ? for_out.template operator()<none, words, true>()
                             : for_out.template operator()<none, words, false>();
  }
  if (width_of(tile) == upper) {
    return is_positive(tile) ? for_out.template operator()<none, upper, true>()
                             : for_out.template operator()<none, upper, false>();
  }
  if (width_of(tile) == upper_words) {
    return is_positive(tile) ? for_out.template operator()<none, upper_words, true>()
                             : for_out.template operator()<none, upper_words, false>();
  }
  if (width_of(tile) == shifted) {
    return is_positive(tile) ? for_out.template operator()<none, shifted, true>()
                             : for_out.template operator()<none, shifted, false>();
  }
  if (tile.addend.storage == u8) return for_range.template operator()<u8>();
  if (tile.addend.storage == u4) return for_range.template operator()<u4>();
  return for_range.template operator()<none>();
}

// Bytes of sums alone: what most layers need.
inline bool is_plain(const RescaleTile& tile) {
  return tile.storage == FilterStorage::u8 && tile.addend.storage == FilterStorage::none &&
         width_of(tile) != RescaleWidth::wide;
}

// The same as with_avx512_rescale for tiles that are plain.
template <class Body>
void with_plain_rescale(const RescaleTile& tile, const Body& body) {
  using enum FilterStorage;
  using enum RescaleWidth;
  const auto for_width = [&]<RescaleWidth Width>() {
    return is_positive(tile) ? body.template operator()<Avx512Rescale<none, u8, Width, true>>()
                             : body.template operator()<Avx512Rescale<none, u8, Width, false>>();
  };
  if (width_of(tile) == words) return for_width.template operator()<words>();
  if (width_of(tile) == narrow) return for_width.template operator()<narrow>();
  if (width_of(tile) == upper) return for_width.template operator()<upper>();
  if (width_of(tile) == upper_words) return for_width.template operator()<upper_words>();
  return for_width.template operator()<shifted>();
}

template <class Path>
void avx512_rescale(const RescaleTile& tile) {
  const auto with_blocks = [&]<class Law, int Blocks>() {
    const Law law(tile);
    const std::int32_t* sums = tile.sums;
    for (std::int64_t p = 0; p < tile.pixels; ++p, sums += tile.window * kFilterColumns) {
      law.template pixel<Blocks>(
          p, [&](int b) { return largest_sums(sums + b * 16, tile.window, kFilterColumns); });
    }
  };
  with_avx512_rescale(tile, [&]<class Law>() {
    const int blocks = (tile.columns + 15) / 16;
    if (blocks == 1) return with_blocks.template operator()<Law, 1>();
    if (blocks == 2) return with_blocks.template operator()<Law, 2>();
    if (blocks == 3) return with_blocks.template operator()<Law, 3>();
    return with_blocks.template operator()<Law, 4>();
  });
}

}  // namespace
}  // namespace nibble::inline kernels
