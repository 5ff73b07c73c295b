// SPDX-License-Identifier: Apache-2.0
// The rescale law on AVX2, 16 outputs at a time; for the file of that path.
#pragma once

#include <immintrin.h>

#include <cstddef>

#include "kernels/engine/engine_kernels.h"
#include "kernels/engine/loops.h"

namespace nibble::inline kernels::avx2 {

// R(x, s) of 32-bit lanes where |x| + 2^(s-1) is below 2^31.
struct NarrowShift {
  __m256i half;
  __m128i shift;

  explicit NarrowShift(int s)
      : half(_mm256_set1_epi32(s == 0 ? 0 : 1 << (s - 1))), shift(_mm_cvtsi32_si128(s)) {}

  __m256i operator()(__m256i x) const {
    return _mm256_sign_epi32(_mm256_srl_epi32(_mm256_add_epi32(_mm256_abs_epi32(x), half), shift),
                             x);
  }
};

// R(x, s) of 64-bit lanes where |x| is below 2^62.
struct WideShift {
  __m256i half;
  __m128i shift;

  explicit WideShift(int s)
      : half(_mm256_set1_epi64x(s == 0 ? 0 : std::int64_t{1} << (s - 1))),
        shift(_mm_cvtsi32_si128(s)) {}

  __m256i operator()(__m256i x) const {
    const __m256i sign = _mm256_cmpgt_epi64(_mm256_setzero_si256(), x);
    const __m256i magnitude = _mm256_sub_epi64(_mm256_xor_si256(x, sign), sign);
    const __m256i rounded = _mm256_srl_epi64(_mm256_add_epi64(magnitude, half), shift);
    return _mm256_sub_epi64(_mm256_xor_si256(rounded, sign), sign);
  }
};

inline __m256i odd_lanes(__m256i x) {
  return _mm256_srli_epi64(x, 32);
}

// What eight outputs need, fetched once a tile.
template <class Path, bool IsWide, bool HasAddend>
class Rescaler {
 public:
  explicit Rescaler(const RescaleTile& tile)
      : narrow_(IsWide ? 0 : tile.shift),
        narrow_addend_(IsWide ? 0 : tile.addend.shift),
        wide_(tile.shift),
        wide_addend_(tile.addend.shift),
        low_(IsWide ? _mm256_set1_epi64x(tile.low) : _mm256_set1_epi32(tile.low)),
        high_(IsWide ? _mm256_set1_epi64x(tile.high) : _mm256_set1_epi32(tile.high)) {}

  // x and factor: of the addend.
  __m256i operator()(__m256i sum, __m256i multiplier, __m256i x, __m256i factor) const {
    if constexpr (IsWide) {
      const __m256i even = wide(sum, multiplier, x, factor);
      const __m256i odd =
          wide(odd_lanes(sum), odd_lanes(multiplier), odd_lanes(x), odd_lanes(factor));
      return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
    } else {
      if constexpr (HasAddend) {
        sum = _mm256_add_epi32(sum, narrow_addend_(_mm256_mullo_epi32(x, factor)));
      }
      const __m256i y = narrow_(_mm256_mullo_epi32(sum, multiplier));
      return _mm256_min_epi32(_mm256_max_epi32(y, low_), high_);
    }
  }

 private:
  // Of the even lanes, as 64 bits.
  __m256i wide(__m256i sum, __m256i multiplier, __m256i x, __m256i factor) const {
    __m256i product;
    if constexpr (HasAddend) {
      const __m256i widened = _mm256_mul_epi32(sum, _mm256_set1_epi64x(1));
      const __m256i total = _mm256_add_epi64(widened, wide_addend_(_mm256_mul_epi32(x, factor)));
      // The multiplier is not negative: total·m mod 2^64 from its halves.
      const __m256i upper = _mm256_mul_epu32(odd_lanes(total), multiplier);
      product = _mm256_add_epi64(_mm256_mul_epu32(total, multiplier), _mm256_slli_epi64(upper, 32));
    } else {
      product = _mm256_mul_epi32(sum, multiplier);
    }
    __m256i y = wide_(product);
    y = _mm256_blendv_epi8(y, low_, _mm256_cmpgt_epi64(low_, y));
    return _mm256_blendv_epi8(y, high_, _mm256_cmpgt_epi64(y, high_));
  }

  NarrowShift narrow_, narrow_addend_;
  WideShift wide_, wide_addend_;
  __m256i low_, high_;
};

// Eight values of the addend from column o on.
inline __m256i addend_values(const FilterAddend& addend, const std::uint8_t* data, int o) {
  const bool is_u8 = addend.storage == FilterStorage::u8;
  const std::uint8_t* from = data + (is_u8 ? o : o % 32);
  __m256i x = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
  if (!is_u8) x = o < 32 ? _mm256_and_si256(x, _mm256_set1_epi32(15)) : _mm256_srli_epi32(x, 4);
  return _mm256_sub_epi32(x, _mm256_set1_epi32(addend.zero));
}

// The low bytes of 16 lanes.
inline __m128i low_bytes(__m256i first, __m256i second) {
  const __m256i mask = _mm256_set1_epi32(255);
  const __m256i words =
      _mm256_packus_epi32(_mm256_and_si256(first, mask), _mm256_and_si256(second, mask));
  const __m256i bytes = _mm256_packus_epi16(words, words);  // by halves of 128 bits
  return _mm256_castsi256_si128(
      _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 0, 4, 1, 5)));
}

// Sixteen outputs.
struct Outputs {
  __m256i first, second;
};

inline void store(std::int32_t* to, const Outputs& y, int count) {
  if (count < 16) {
    __builtin_memcpy(to, &y, static_cast<std::size_t>(count) * 4);
    return;
  }
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), y.first);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 8), y.second);
}

inline void store(std::uint8_t* to, __m128i bytes, int count) {
  if (count < 16) {
    __builtin_memcpy(to, &bytes, static_cast<std::size_t>(count));
    return;
  }
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
}

template <class Path, bool IsWide, bool HasAddend>
void rescale_pixels(const RescaleTile& tile) {
  const FilterAddend& addend = tile.addend;
  const Rescaler<Path, IsWide, HasAddend> rescaler(tile);
  const __m256i zero = _mm256_set1_epi32(tile.storage == FilterStorage::s32 ? 0 : tile.zero);
  const auto load = [](const std::int32_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  };
  alignas(32) std::int32_t largest[kFilterColumns];
  for (std::int64_t p = 0; p < tile.pixels; ++p) {
    const std::int32_t* sums = EngineLoops<Path>::largest_sums(tile, p, largest);
    const std::uint8_t* data = addend.data + p * addend.stride;
    const auto eight = [&](int o) {
      __m256i x = {};
      __m256i factor = {};
      if constexpr (HasAddend) {
        x = addend_values(addend, data, o);
        factor = load(addend.multiplier + o);
      }
      return _mm256_add_epi32(rescaler(load(sums + o), load(tile.multiplier + o), x, factor), zero);
    };
    std::uint8_t* out = static_cast<std::uint8_t*>(tile.out) + p * tile.stride;
    if (tile.storage == FilterStorage::s32) {
      for (int o = 0; o < tile.columns; o += 16) {
        store(reinterpret_cast<std::int32_t*>(out) + o, {eight(o), eight(o + 8)}, tile.columns - o);
      }
    } else if (tile.storage == FilterStorage::u8) {
      for (int o = 0; o < tile.columns; o += 16) {
        store(out + o, low_bytes(eight(o), eight(o + 8)), tile.columns - o);
      }
    } else {
      const auto halves = [&](int o) {
        return _mm256_or_si256(eight(o), _mm256_slli_epi32(eight(o + 32), 4));
      };
      for (int o = 0; o < 32; o += 16) store(out + o, low_bytes(halves(o), halves(o + 8)), 16);
    }
  }
}

template <class Path>
void avx2_rescale(const RescaleTile& tile) {
  if (tile.addend.storage != FilterStorage::none) {
    return tile.is_wide ? rescale_pixels<Path, true, true>(tile)
                        : rescale_pixels<Path, false, true>(tile);
  }
  return tile.is_wide ? rescale_pixels<Path, true, false>(tile)
                      : rescale_pixels<Path, false, false>(tile);
}

}  // namespace nibble::inline kernels::avx2
