// SPDX-License-Identifier: Apache-2.0
// The rescale law on AVX-512, 16 outputs at a time; for the files of paths that have it.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstddef>

#include "kernels/engine/engine_kernels.h"

namespace nibble::inline kernels {
namespace {  // a copy for each file: they are compiled with flags of their own

// R(x, s) of 32-bit lanes where |x| + 2^(s-1) is below 2^31: (x + 2^(s-1) - [x < 0]) >> s.
// Counts lie in vectors: shifts by them take half of what those by one number take.
struct NarrowShift {
  __m512i half;
  __m512i shift;
  __mmask16 rounds;  // all lanes, none where s is 0

  explicit NarrowShift(int s)
      : half(_mm512_set1_epi32(s == 0 ? 0 : 1 << (s - 1))),
        shift(_mm512_set1_epi32(s)),
        rounds(s == 0 ? 0 : 0xFFFF) {}

  __m512i operator()(__m512i x) const {
    const __m512i below_zero = _mm512_maskz_srai_epi32(rounds, x, 31);
    return shifted(_mm512_add_epi32(x, below_zero));
  }
  // The same for x >= 0; of x < 0 not above 0.
  __m512i shifted(__m512i x) const { return _mm512_srav_epi32(_mm512_add_epi32(x, half), shift); }
};

// R(x, s) of eight 64-bit lanes.
struct WideShift {
  __m512i half;
  __m512i shift;

  explicit WideShift(int s)
      : half(_mm512_set1_epi64(s == 0 ? 0 : std::int64_t{1} << (s - 1))),
        shift(_mm512_set1_epi64(s)) {}

  __m512i operator()(__m512i product) const {
    const __m512i magnitude = shifted(_mm512_abs_epi64(product));
    return _mm512_mask_sub_epi64(magnitude, _mm512_movepi64_mask(product), _mm512_setzero_si512(),
                                 magnitude);
  }
  // The same for a product >= 0; of one below 0 not above 0.
  __m512i shifted(__m512i product) const {
    return _mm512_srav_epi64(_mm512_add_epi64(product, half), shift);
  }
};

// Read once: compilers like to read from memory again what several instructions take.
[[gnu::always_inline]] inline __m512i in_register(__m512i x) {
  __asm__("" : "+v"(x));
  return x;
}

// Eight of 16 lanes, twice as wide.
inline __m512i low_half(__m512i x) {
  return _mm512_cvtepi32_epi64(_mm512_castsi512_si256(x));
}
inline __mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xFFFF : (1 << count) - 1);
}
inline __mmask64 first_bytes(std::int64_t count) {
  return count >= 64 ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}
inline __m512i bytes_of(std::int64_t number) {
  return _mm512_set1_epi8(static_cast<char>(number < 0 ? 0 : number > 255 ? 255 : number));
}

// What products need: 32 bits; 64, of which the upper 32 are enough, the lower 16 of those where
// bytes leave no more; 64, of which a shift of 31 or more leaves 32; 64 and more care.
enum class RescaleWidth { narrow, upper, upper_words, shifted, wide };

inline constexpr bool takes_upper(RescaleWidth width) {
  return width == RescaleWidth::upper || width == RescaleWidth::upper_words;
}

// Bits behind the point that 16 hold beside a byte and its sign: the last of a rounding shift.
inline constexpr int kWordShift = 7;

// Whether only sums above 0 count, and bytes saturate by themselves.
inline bool is_positive(const RescaleTile& tile) {
  return tile.low == 0 && tile.zero == 0 && tile.storage != FilterStorage::s32;
}

inline RescaleWidth width_of(const RescaleTile& tile) {
  if (!tile.is_wide) return RescaleWidth::narrow;
  // |sum|·multiplier is at most (2^31 - 1)².
  if (tile.shift < 31 || tile.addend.storage != FilterStorage::none) return RescaleWidth::wide;
  const bool rounds_up = is_positive(tile) || !tile.has_ties;
  if (tile.shift < 33 || !rounds_up) return RescaleWidth::shifted;
  const bool has_words = tile.shift - 32 <= kWordShift && tile.storage != FilterStorage::s32;
  return has_words ? RescaleWidth::upper_words : RescaleWidth::upper;
}

// Rescales the sums of one tile. What a tile can be is known when this is compiled: Addend and Out
// are storages, Positive says that is_positive, SignedAddend that the addend has a zero (u4 has
// none).
template <FilterStorage Addend, FilterStorage Out, RescaleWidth Width, bool Positive,
          bool SignedAddend = Addend == FilterStorage::u8>
class Avx512Rescale {
 public:
  // Few enough instructions to follow products at once; fewest.
  static constexpr bool kIsLight = Width != RescaleWidth::wide && Out != FilterStorage::s32;
  static constexpr bool kIsPlain = kIsLight && Addend == FilterStorage::none;

  explicit Avx512Rescale(const RescaleTile& tile)
      : tile_(tile),
        shift_(kNarrow                               ? tile.shift
               : takes_upper(Width) && !kRoundsWords ? tile.shift - 32
                                                     : 0),
        first_shift_(_mm512_set1_epi32(tile.shift - 32 - kWordShift)),
        last_shift_(_mm512_set1_epi16(static_cast<short>(
            kRoundsWords ? 1 << (15 - std::min(tile.shift - 32, kWordShift)) : 0))),
        addend_shift_(kNarrow ? tile.addend.shift : 0),
        wide_shift_(tile.shift),
        wide_addend_shift_(tile.addend.shift),
        low_(_mm512_set1_epi32(tile.low)),
        high_(_mm512_set1_epi32(tile.high)),
        least_(bytes_of(std::int64_t{tile.low} + tile.zero)),
        most_(bytes_of(std::int64_t{tile.high} + tile.zero)),
        zero_(_mm512_set1_epi16(static_cast<short>(tile.zero))),
        addend_zero_(_mm512_set1_epi32(tile.addend.zero)),
        columns_(first_bytes(tile.columns)) {
    if constexpr (takes_upper(Width)) {
      for (int b = 0; b * 16 < tile.columns; ++b)
        odd_multipliers_[b] = odd_lanes(_mm512_loadu_si512(tile.multiplier + b * 16));
    }
  }

  // One pixel: sums(block) gives 16 of them.
  template <int Blocks, class Sums>
  [[gnu::always_inline]] void pixel(std::int64_t p, const Sums& sums) const {
    const std::uint8_t* data = addend_row(p);
    std::uint8_t* out = row(p);
    __m512i y[Blocks];
#pragma GCC unroll 4
    for (int b = 0; b < Blocks; ++b) y[b] = rescaled(sums(b), data, b);
    if constexpr (Out == FilterStorage::s32) {
#pragma GCC unroll 4
      for (int b = 0; b < Blocks; ++b) {
        _mm512_mask_storeu_epi32(reinterpret_cast<std::int32_t*>(out) + b * 16,
                                 first_lanes(tile_.columns - b * 16), clamped(y[b]));
      }
    } else if constexpr (Out == FilterStorage::u8 && Blocks == 1 && !kRoundsWords) {
      const __m512i byte = _mm512_add_epi32(clamped(y[0]), _mm512_set1_epi32(tile_.zero));
      _mm_mask_storeu_epi8(out, static_cast<__mmask16>(columns_), _mm512_cvtepi32_epi8(byte));
    } else {
      const __m512i bytes = in_order(packed(y));
      if constexpr (Out == FilterStorage::u8) {
        _mm512_mask_storeu_epi8(out, columns_, bytes);
      } else {
        const __m256i high = _mm256_slli_epi16(_mm512_extracti64x4_epi64(bytes, 1), 4);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                            _mm256_or_si256(_mm512_castsi512_si256(bytes), high));
      }
    }
  }

  // The bytes of 64 sums whose lanes lie as packing takes them, for each of some pixels.
  template <class... Sums>
  [[gnu::always_inline]] void bytes_in_place(__m512i (&bytes)[sizeof...(Sums)],
                                             const Sums&... sums) const {
    static_assert(Addend == FilterStorage::none);
    __m512i y[sizeof...(Sums)][kFilterBlocks];
#pragma GCC unroll 4
    for (int b = 0; b < kFilterBlocks; ++b) {
      int pixel = 0;
      const Multipliers multipliers = multipliers_of(b);
      ((y[pixel++][b] = rescaled(sums[b], multipliers)), ...);
    }
    for (std::size_t pixel = 0; pixel < sizeof...(Sums); ++pixel) bytes[pixel] = packed(y[pixel]);
  }

  // Some of the blocks of pixels p and q: `first` and the one kApart after it, or `first` alone.
  // sums(i, b) gives 16 of those of p (i = 0) or q.
  static constexpr int kApart =  // halves of bytes are side by side
      Addend == FilterStorage::u4 || Out == FilterStorage::u4 ? 2 : 1;
  template <int Blocks, class Sums>
  [[gnu::always_inline]] void two_pixels(std::int64_t p, std::int64_t q, int first,
                                         const Sums& sums) const {
    const std::int64_t pixels[] = {p, q};
    __m512i y[4];
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const std::uint8_t* data = addend_row(pixels[i]) + first * kBlockBytes;
      y[2 * i] = rescaled(sums(i, 0), data, 0, first * 16);
      y[2 * i + 1] = Blocks == 1 ? y[2 * i] : rescaled(sums(i, 1), data, kApart, first * 16);
    }
    if constexpr (Out == FilterStorage::s32) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const int column = (first + i % 2 * kApart) * 16;
        if (i % 2 == Blocks) continue;
        _mm512_mask_storeu_epi32(reinterpret_cast<std::int32_t*>(row(pixels[i / 2])) + column,
                                 first_lanes(tile_.columns - column), clamped(y[i]));
      }
    } else {
      const __m512i bytes = in_order(packed(y));
      put_two_blocks(p, first, _mm512_castsi512_si256(bytes));
      put_two_blocks(q, first, _mm512_extracti64x4_epi64(bytes, 1));
    }
  }

  // The same for two of a pixel's four blocks, `first` (0 or 1) and first + 2, whose halves of
  // bytes are side by side: what becomes of 16 sums, and both to memory.
  template <bool IsSecond>
  [[gnu::always_inline]] __m512i half_of_pair(std::int64_t p, int first, __m512i sum) const {
    const int b = IsSecond ? 2 : 0;
    return rescaled(sum, addend_row(p) + first * kBlockBytes, b, first * 16);
  }
  [[gnu::always_inline]] void put_pair(std::int64_t p, int first, __m512i y, __m512i second) const {
    std::uint8_t* out = row(p) + first * 16;
    const __m512i words = as_words(y, second);
    __m256i bytes =
        _mm256_packus_epi16(_mm512_castsi512_si256(words), _mm512_extracti64x4_epi64(words, 1));
    bytes = _mm256_min_epu8(bytes, _mm512_castsi512_si256(most_));
    if constexpr (!Positive) bytes = _mm256_max_epu8(bytes, _mm512_castsi512_si256(least_));
    put_halves(out, _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 2, 6, 1, 5, 3, 7)));
  }

 private:
  static constexpr bool kNarrow = Width == RescaleWidth::narrow;
  static constexpr bool kRoundsWords = takes_upper(Width) && Out != FilterStorage::s32;

  static constexpr int kBlockBytes = 16;  // of an addend's block

  // Of 16 columns, and those of odd ones in even lanes.
  struct Multipliers {
    __m512i all;
    __m512i odd;
  };

  const std::uint8_t* addend_row(std::int64_t p) const {
    return Addend == FilterStorage::none ? nullptr : tile_.addend.data + p * tile_.addend.stride;
  }
  std::uint8_t* row(std::int64_t p) const {
    return static_cast<std::uint8_t*>(tile_.out) + p * tile_.stride;
  }

  // 16 bytes of a block, and those of the second after it.
  [[gnu::always_inline]] static void put_halves(std::uint8_t* out, __m256i bytes) {
    const __m128i low = _mm256_castsi256_si128(bytes);
    const __m128i high = _mm256_extracti128_si256(bytes, 1);
    if constexpr (Out == FilterStorage::u4) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_or_si128(low, _mm_slli_epi16(high, 4)));
    } else {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out), low);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 32), high);
    }
  }
  [[gnu::always_inline]] void put_two_blocks(std::int64_t p, int first, __m256i bytes) const {
    std::uint8_t* out = row(p) + first * 16;
    const __mmask64 columns = columns_ >> first * 16;
    if constexpr (Out == FilterStorage::u4) {
      put_halves(out, bytes);
    } else if constexpr (kApart == 2) {
      _mm_mask_storeu_epi8(out, static_cast<__mmask16>(columns), _mm256_castsi256_si128(bytes));
      _mm_mask_storeu_epi8(out + 32, static_cast<__mmask16>(columns >> 32),
                           _mm256_extracti128_si256(bytes, 1));
    } else {
      _mm256_mask_storeu_epi8(out, static_cast<__mmask32>(columns), bytes);
    }
  }

  __m512i clamped(__m512i y) const {
    return _mm512_min_epi32(_mm512_max_epi32(y, low_), high_);
  }

  // Halving widths saturates: to 16 bits, which no byte and zero reach, with kWordShift or fewer
  // bits behind the point neither. Those are rounded here: (x·2^(15-s) + 2^14) >> 15 is
  // (x + 2^(s-1)) >> s.
  [[gnu::always_inline]] __m512i as_words(__m512i y, __m512i second) const {
    __m512i words = _mm512_packs_epi32(y, second);
    if constexpr (kRoundsWords) words = _mm512_mulhrs_epi16(words, last_shift_);
    return Positive ? words : _mm512_adds_epi16(words, zero_);
  }

  // To 0 … 255 then. Packing works on parts of 128 bits: of each, four bytes of every block.
  template <int Blocks>
  [[gnu::always_inline]] __m512i packed(const __m512i (&y)[Blocks]) const {
    const __m512i first = as_words(y[0], y[Blocks > 1 ? 1 : 0]);
    __m512i second = first;
    if constexpr (Blocks > 2) second = as_words(y[2], y[Blocks - 1]);
    const __m512i bytes = _mm512_min_epu8(_mm512_packus_epi16(first, second), most_);
    return Positive ? bytes : _mm512_max_epu8(bytes, least_);
  }

  // One block after the other.
  [[gnu::always_inline]] static __m512i in_order(__m512i bytes) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, bytes);
  }

  [[gnu::always_inline]] __m512i addend_of(const std::uint8_t* data, int b) const {
    const auto* at = reinterpret_cast<const __m128i*>(
        data + (Addend == FilterStorage::u4 ? b % 2 * 16 : b * 16));
    __m512i x = _mm512_cvtepu8_epi32(_mm_loadu_si128(at));
    if constexpr (Addend == FilterStorage::u4) {
      x = b < 2 ? _mm512_and_si512(x, _mm512_set1_epi32(15)) : _mm512_srli_epi32(x, 4);
    }
    return SignedAddend ? _mm512_sub_epi32(x, addend_zero_) : x;
  }

  [[gnu::always_inline]] __m512i rescaled(__m512i sum, const std::uint8_t* data, int b,
                                          int column = 0) const {
    const Multipliers multipliers{_mm512_loadu_si512(tile_.multiplier + b * 16 + column),
                                  odd_multipliers_[b + column / 16]};
    if constexpr (Width == RescaleWidth::wide) return wide(sum, multipliers.all, data, b, column);
    if constexpr (kNarrow && Addend != FilterStorage::none) {
      const __m512i factor = _mm512_loadu_si512(tile_.addend.multiplier + b * 16 + column);
      const __m512i product = _mm512_mullo_epi32(addend_of(data, b), factor);
      sum = _mm512_add_epi32(
          sum, SignedAddend ? addend_shift_(product) : addend_shift_.shifted(product));
    }
    return rescaled(sum, multipliers);
  }

  [[gnu::always_inline]] Multipliers multipliers_of(int b) const {
    Multipliers both{in_register(_mm512_loadu_si512(tile_.multiplier + b * 16)), {}};
    if constexpr (takes_upper(Width)) both.odd = in_register(odd_multipliers_[b]);
    return both;
  }

  // Of a sum with what is added.
  [[gnu::always_inline]] __m512i rescaled(__m512i sum, const Multipliers& multipliers) const {
    if constexpr (Width == RescaleWidth::shifted) return shifted(sum, multipliers.all);
    if constexpr (takes_upper(Width)) {
      const __m512i product = upper(sum, multipliers);
      if constexpr (!kRoundsWords) return shift_.shifted(product);
      return Width == RescaleWidth::upper ? _mm512_srav_epi32(product, first_shift_) : product;
    }
    const __m512i product = _mm512_mullo_epi32(sum, multipliers.all);
    return Positive ? shift_.shifted(product) : shift_(product);
  }

  // floor(sum·multiplier / 2^32): half a step has no bit below 2^32, so that it can be added later.
  [[gnu::always_inline]] static __m512i upper(__m512i sum, const Multipliers& multipliers) {
    const __m512i even = _mm512_mul_epi32(sum, multipliers.all);
    const __m512i odd = _mm512_mul_epi32(odd_lanes(sum), multipliers.odd);
    return _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB);
  }

  // Even and odd lanes one after the other, 64 bits each; quotients have 31 and a sign.
  [[gnu::always_inline]] __m512i shifted(__m512i sum, __m512i multiplier) const {
    const __m512i factor = Positive ? sum : _mm512_abs_epi32(sum);
    const __m512i even = wide_shift_.shifted(product(factor, multiplier));
    const __m512i odd = wide_shift_.shifted(product(odd_lanes(factor), odd_lanes(multiplier)));
    const __m512i y = _mm512_mask_shuffle_epi32(even, 0xAAAA, odd, _MM_PERM_CCAA);
    if constexpr (Positive) return y;
    return _mm512_mask_sub_epi32(y, _mm512_movepi32_mask(sum), _mm512_setzero_si512(), y);
  }

  // The magnitude of a sum may have 32 bits.
  static __m512i product(__m512i a, __m512i b) {
    return Positive ? _mm512_mul_epi32(a, b) : _mm512_mul_epu32(a, b);
  }

  // Even and odd lanes one after the other, 64 bits each.
  __m512i wide(__m512i sum, __m512i multiplier, const std::uint8_t* data, int b, int column) const {
    __m512i x = _mm512_setzero_si512();
    __m512i factor = x;
    if constexpr (Addend != FilterStorage::none) {
      x = addend_of(data, b);
      factor = _mm512_loadu_si512(tile_.addend.multiplier + b * 16 + column);
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
  __m512i first_shift_;  // of upper halves: what leaves kWordShift
  __m512i last_shift_;   // of words, 2^(15-s)
  NarrowShift addend_shift_;
  WideShift wide_shift_;
  WideShift wide_addend_shift_;
  __m512i low_;
  __m512i high_;
  __m512i least_;  // bytes
  __m512i most_;
  __m512i zero_;  // 16 bits each
  __m512i addend_zero_;
  __m512i odd_multipliers_[kFilterBlocks];
  __mmask64 columns_;
};

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
    return body.template operator()<Avx512Rescale<Addend, s32, Width, Positive, Signed>>();
  };
  const auto for_range = [&]<FilterStorage Addend>() {
    if (tile.is_wide) return for_out.template operator()<Addend, wide, false>();
    if (Addend == u8 && tile.addend.zero == 0 && is_positive(tile))
      return for_out.template operator()<Addend, narrow, true, false>();
    if (is_positive(tile)) return for_out.template operator()<Addend, narrow, true>();
    return for_out.template operator()<Addend, narrow, false>();
  };
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
