// SPDX-License-Identifier: Apache-2.0
// The rescale law on AVX-512, 16 outputs at a time; for the files of paths that have it.
#pragma once

#include <immintrin.h>

#include "nibble/kernels/filter8.h"

namespace nibble {
namespace {  // a copy for each file: they are compiled with flags of their own

// R(x, s) of 32-bit lanes where |x| + 2^(s-1) is below 2^31.
struct NarrowShift {
  __m512i half;
  __m128i shift;

  explicit NarrowShift(int s)
      : half(_mm512_set1_epi32(s == 0 ? 0 : 1 << (s - 1))), shift(_mm_cvtsi32_si128(s)) {}

  __m512i operator()(__m512i x) const {
    const __m512i magnitude = of_positive(_mm512_abs_epi32(x));
    return _mm512_mask_sub_epi32(magnitude, _mm512_movepi32_mask(x), _mm512_setzero_si512(),
                                 magnitude);
  }
  // The same for x >= 0.
  __m512i of_positive(__m512i x) const {
    return _mm512_srl_epi32(_mm512_add_epi32(x, half), shift);
  }
};

// R(x, s) of eight 64-bit lanes.
struct WideShift {
  __m512i half;
  __m128i shift;

  explicit WideShift(int s)
      : half(_mm512_set1_epi64(s == 0 ? 0 : std::int64_t{1} << (s - 1))),
        shift(_mm_cvtsi32_si128(s)) {}

  __m512i operator()(__m512i product) const {
    const __m512i magnitude = of_positive(_mm512_abs_epi64(product));
    return _mm512_mask_sub_epi64(magnitude, _mm512_movepi64_mask(product), _mm512_setzero_si512(),
                                 magnitude);
  }
  // The same for a product >= 0.
  __m512i of_positive(__m512i product) const {
    return _mm512_srl_epi64(_mm512_add_epi64(product, half), shift);
  }
};

// Eight of 16 lanes, twice as wide.
inline __m512i low_half(__m512i x) {
  return _mm512_cvtepi32_epi64(_mm512_castsi512_si256(x));
}
inline __mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xFFFF : (1 << count) - 1);
}

// What products need: 32 bits; 64, of which a shift of 31 or more leaves 32; 64 and more care.
enum class RescaleWidth { narrow, upper, wide };

inline RescaleWidth width_of(const RescaleTile& tile) {
  if (!tile.is_wide) return RescaleWidth::narrow;
  // |sum|·multiplier is at most (2^31 - 1)².
  const bool is_upper = tile.shift >= 31 && tile.addend.storage == FilterStorage::none;
  return is_upper ? RescaleWidth::upper : RescaleWidth::wide;
}

// Whether only sums above 0 count, and bytes saturate by themselves.
inline bool is_positive(const RescaleTile& tile) {
  return tile.low == 0 && tile.zero == 0 && tile.storage != FilterStorage::s32;
}

// Rescales the sums of one tile. What a tile can be is known when this is compiled: Addend and Out
// are storages (an addend of u4 has no zero), Positive says that is_positive.
template <FilterStorage Addend, FilterStorage Out, RescaleWidth Width, bool Positive>
class Avx512Rescale {
 public:
  explicit Avx512Rescale(const RescaleTile& tile)
      : tile_(tile),
        shift_(kNarrow ? tile.shift : 0),
        addend_shift_(kNarrow ? tile.addend.shift : 0),
        wide_shift_(tile.shift),
        wide_addend_shift_(tile.addend.shift),
        low_(_mm512_set1_epi32(tile.low)),
        high_(_mm512_set1_epi32(tile.high)),
        most_(_mm_set1_epi8(static_cast<char>(tile.high < 255 ? tile.high : 255))),
        zero_(_mm512_set1_epi32(tile.zero)),
        addend_zero_(_mm512_set1_epi32(tile.addend.zero)) {}

  // One pixel: sums(block) gives 16 of them.
  template <int Blocks, class Sums>
  [[gnu::always_inline]] void pixel(std::int64_t p, const Sums& sums) const {
    const std::uint8_t* data = nullptr;
    if constexpr (Addend != FilterStorage::none) data = tile_.addend.data + p * tile_.addend.stride;
    std::uint8_t* out = static_cast<std::uint8_t*>(tile_.out) + p * tile_.stride;
    __m128i bytes[Blocks];
#pragma GCC unroll 4
    for (int b = 0; b < Blocks; ++b) {
      const __m512i y = rescaled(sums(b), data, b);
      if constexpr (Out == FilterStorage::s32) {
        _mm512_mask_storeu_epi32(reinterpret_cast<std::int32_t*>(out) + b * 16,
                                 first_lanes(tile_.columns - b * 16), y);
      } else if constexpr (Positive) {
        bytes[b] = _mm_min_epu8(_mm512_cvtusepi32_epi8(y), most_);
      } else {
        bytes[b] = _mm512_cvtepi32_epi8(_mm512_add_epi32(y, zero_));
      }
    }
    if constexpr (Out == FilterStorage::u8) {
#pragma GCC unroll 4
      for (int b = 0; b < Blocks; ++b) {
        _mm_mask_storeu_epi8(out + b * 16, first_lanes(tile_.columns - b * 16), bytes[b]);
      }
    } else if constexpr (Out == FilterStorage::u4 && Blocks == kFilterBlocks) {
      for (int b = 0; b < 2; ++b) {
        const __m128i both = _mm_or_si128(bytes[b], _mm_slli_epi16(bytes[b + 2], 4));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + b * 16), both);
      }
    }
  }

 private:
  static constexpr bool kNarrow = Width == RescaleWidth::narrow;
  static constexpr bool kSignedAddend = Addend == FilterStorage::u8;

  [[gnu::always_inline]] __m512i addend_of(const std::uint8_t* data, int b) const {
    const auto* at = reinterpret_cast<const __m128i*>(
        data + (Addend == FilterStorage::u4 ? b % 2 * 16 : b * 16));
    __m512i x = _mm512_cvtepu8_epi32(_mm_loadu_si128(at));
    if constexpr (Addend == FilterStorage::u4) {
      x = b < 2 ? _mm512_and_si512(x, _mm512_set1_epi32(15)) : _mm512_srli_epi32(x, 4);
    }
    return kSignedAddend ? _mm512_sub_epi32(x, addend_zero_) : x;
  }

  [[gnu::always_inline]] __m512i rescaled(__m512i sum, const std::uint8_t* data, int b) const {
    const __m512i multiplier = _mm512_loadu_si512(tile_.multiplier + b * 16);
    if constexpr (Width == RescaleWidth::wide) return wide(sum, multiplier, data, b);
    if constexpr (Width == RescaleWidth::upper) return upper(sum, multiplier);
    if constexpr (Addend != FilterStorage::none) {
      const __m512i factor = _mm512_loadu_si512(tile_.addend.multiplier + b * 16);
      const __m512i product = _mm512_mullo_epi32(addend_of(data, b), factor);
      sum = _mm512_add_epi32(
          sum, kSignedAddend ? addend_shift_(product) : addend_shift_.of_positive(product));
    }
    if constexpr (Positive) {
      sum = _mm512_max_epi32(sum, _mm512_setzero_si512());
      return shift_.of_positive(_mm512_mullo_epi32(sum, multiplier));
    }
    const __m512i y = shift_(_mm512_mullo_epi32(sum, multiplier));
    return _mm512_min_epi32(_mm512_max_epi32(y, low_), high_);
  }

  // Magnitudes of even and odd lanes one after the other, 64 bits each; quotients have 31.
  [[gnu::always_inline]] __m512i upper(__m512i sum, __m512i multiplier) const {
    const __m512i magnitude =
        Positive ? _mm512_max_epi32(sum, _mm512_setzero_si512()) : _mm512_abs_epi32(sum);
    const __m512i even = wide_shift_.of_positive(_mm512_mul_epu32(magnitude, multiplier));
    const __m512i odd =
        wide_shift_.of_positive(_mm512_mul_epu32(odd_lanes(magnitude), odd_lanes(multiplier)));
    __m512i y = _mm512_mask_shuffle_epi32(even, 0xAAAA, odd, _MM_PERM_CCAA);
    if constexpr (Positive) return y;
    y = _mm512_mask_sub_epi32(y, _mm512_movepi32_mask(sum), _mm512_setzero_si512(), y);
    return _mm512_min_epi32(_mm512_max_epi32(y, low_), high_);
  }

  // Even and odd lanes one after the other, 64 bits each.
  __m512i wide(__m512i sum, __m512i multiplier, const std::uint8_t* data, int b) const {
    __m512i x = _mm512_setzero_si512();
    __m512i factor = x;
    if constexpr (Addend != FilterStorage::none) {
      x = addend_of(data, b);
      factor = _mm512_loadu_si512(tile_.addend.multiplier + b * 16);
    }
    const __m512i even = wide_lanes(sum, multiplier, x, factor);
    const __m512i odd =
        wide_lanes(odd_lanes(sum), odd_lanes(multiplier), odd_lanes(x), odd_lanes(factor));
    return _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32));
  }
  static __m512i odd_lanes(__m512i x) {
    return _mm512_srli_epi64(x, 32);
  }

  // Of the low halves of 64-bit lanes, signed; the result is in the low halves.
  __m512i wide_lanes(__m512i sum, __m512i multiplier, __m512i x, __m512i factor) const {
    __m512i product;
    if constexpr (Addend == FilterStorage::none) {
      product = _mm512_mul_epi32(sum, multiplier);
    } else {
      const __m512i addend = wide_addend_shift_(_mm512_mul_epi32(x, factor));
      const __m512i total = _mm512_add_epi64(_mm512_mul_epi32(sum, _mm512_set1_epi64(1)), addend);
      const __m512i upper = _mm512_mul_epu32(_mm512_srli_epi64(total, 32), multiplier);
      product = _mm512_add_epi64(_mm512_mul_epu32(total, multiplier), _mm512_slli_epi64(upper, 32));
    }
    return _mm512_min_epi64(_mm512_max_epi64(wide_shift_(product), low_half(low_)),
                            low_half(high_));
  }

  const RescaleTile& tile_;
  NarrowShift shift_;
  NarrowShift addend_shift_;
  WideShift wide_shift_;
  WideShift wide_addend_shift_;
  __m512i low_;
  __m512i high_;
  __m128i most_;
  __m512i zero_;
  __m512i addend_zero_;
};

// Calls body<Law>() with the Avx512Rescale that the tile needs.
template <class Body>
void with_avx512_rescale(const RescaleTile& tile, const Body& body) {
  using enum FilterStorage;
  using enum RescaleWidth;
  const auto for_out = [&]<FilterStorage Addend, RescaleWidth Width, bool Positive>() {
    if (tile.storage == u8)
      return body.template operator()<Avx512Rescale<Addend, u8, Width, Positive>>();
    if (tile.storage == u4)
      return body.template operator()<Avx512Rescale<Addend, u4, Width, Positive>>();
    return body.template operator()<Avx512Rescale<Addend, s32, Width, Positive>>();
  };
  const auto for_range = [&]<FilterStorage Addend>() {
    if (tile.is_wide) return for_out.template operator()<Addend, wide, false>();
    if (is_positive(tile)) return for_out.template operator()<Addend, narrow, true>();
    return for_out.template operator()<Addend, narrow, false>();
  };
  if (width_of(tile) == upper) {
    return is_positive(tile) ? for_out.template operator()<none, upper, true>()
                             : for_out.template operator()<none, upper, false>();
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
  if (width_of(tile) == narrow) {
    return is_positive(tile) ? body.template operator()<Avx512Rescale<none, u8, narrow, true>>()
                             : body.template operator()<Avx512Rescale<none, u8, narrow, false>>();
  }
  return is_positive(tile) ? body.template operator()<Avx512Rescale<none, u8, upper, true>>()
                           : body.template operator()<Avx512Rescale<none, u8, upper, false>>();
}

template <class Path>
void avx512_rescale(const RescaleTile& tile) {
  with_avx512_rescale(tile, [&]<class Law>() {
    const Law rescale(tile);
    const int blocks = (tile.columns + 15) / 16;
    for (std::int64_t p = 0; p < tile.pixels; ++p) {
      const auto sums = [&](int b) {
        const std::int32_t* from = tile.sums + p * tile.window * kFilterColumns + b * 16;
        __m512i most = _mm512_loadu_si512(from);
        for (int w = 1; w < tile.window; ++w)
          most = _mm512_max_epi32(most, _mm512_loadu_si512(from + w * kFilterColumns));
        return most;
      };
      switch (blocks) {
        case 1:
          rescale.template pixel<1>(p, sums);
          break;
        case 2:
          rescale.template pixel<2>(p, sums);
          break;
        case 3:
          rescale.template pixel<3>(p, sums);
          break;
        default:
          rescale.template pixel<4>(p, sums);
      }
    }
  });
}

}  // namespace
}  // namespace nibble
