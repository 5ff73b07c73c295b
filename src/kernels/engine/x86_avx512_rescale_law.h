// SPDX-License-Identifier: Apache-2.0
// The rescale law on AVX-512 in all widths, 16 outputs at a time.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstddef>

#include "kernels/engine/engine_kernels.h"
#include "kernels/engine/x86_avx512_lanes.h"
#include "laws/small_rescale.h"

namespace nibble::inline kernels {
namespace {  // a copy for each file: they are compiled with flags of their own

// What products need: 16 bits, or 32 by halves, as laws/small_rescale.h says; 32 bits; 64, of which
// the upper 32 are enough, the lower 16 of those where bytes leave no more; 64, of which a shift of
// 31 or more leaves 32; 64 and more care.
enum class RescaleWidth { words, halves, narrow, upper, upper_words, shifted, wide };

// Of 16 columns: multipliers, those of odd columns in even lanes, those of what is added. By
// halves: multipliers of lower halves, of upper halves, and factors as sums of two words; from what
// the products with these start, half a step less zero times the factor.
struct RescaleMultipliers {
  __m512i first;
  __m512i second;
  __m512i of_addend;
  __m512i start;
};

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
  const bool rounds_up = is_positive(tile) || !tile.has_ties;
  if (tile.addend.storage != FilterStorage::none)
    return tile.is_wide                         ? RescaleWidth::wide
           : tile.is_small && is_positive(tile) ? RescaleWidth::halves
                                                : RescaleWidth::narrow;
  if (tile.is_small && rounds_up && tile.storage != FilterStorage::s32) return RescaleWidth::words;
  if (!tile.is_wide) return RescaleWidth::narrow;
  // |sum|·multiplier is at most (2^31 - 1)².
  if (tile.shift < 31) return RescaleWidth::wide;
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
  using Multipliers = RescaleMultipliers;

 public:
  // Few enough instructions to follow products at once; fewest.
  static constexpr bool kIsLight = Width != RescaleWidth::wide && Out != FilterStorage::s32;
  static constexpr bool kIsPlain = kIsLight && Addend == FilterStorage::none;

  explicit Avx512Rescale(const RescaleTile& tile)
      : tile_(tile),
        shift_(kNarrow                               ? tile.shift
               : takes_upper(Width) && !kRoundsWords ? tile.shift - 32
                                                     : 0),
        first_shift_(Width == RescaleWidth::words
                         ? _mm512_set1_epi16(static_cast<short>(word_multiplier_shift(tile.shift)))
                     : kHalves ? _mm512_set1_epi32(word_multiplier_shift(tile.shift))
                               : _mm512_set1_epi32(tile.shift - 32 - kWordShift)),
        last_shift_(_mm512_set1_epi16(static_cast<short>(1 << (15 - word_shift(tile))))),
        addend_shift_(kNarrow || kHalves ? tile.addend.shift : 0),
        wide_shift_(tile.shift),
        wide_addend_shift_(tile.addend.shift),
        low_(_mm512_set1_epi32(tile.low)),
        high_(_mm512_set1_epi32(tile.high)),
        least_(bytes_of(std::int64_t{tile.low} + tile.zero)),
        most_(bytes_of(std::int64_t{tile.high} + tile.zero)),
        zero_(_mm512_set1_epi16(static_cast<short>(tile.zero))),
        addend_zero_(_mm512_set1_epi32(tile.addend.zero)),
        columns_(first_bytes(tile.columns)) {
    for (int b = 0; b * 16 < tile.columns; ++b) {
      const __m512i multiplier = _mm512_loadu_si512(tile.multiplier + b * 16);
      if constexpr (takes_upper(Width)) kept_[b].second = odd_lanes(multiplier);
      if constexpr (kHalves)
        kept_[b] = by_halves(_mm512_sllv_epi32(multiplier, first_shift_),
                             _mm512_loadu_si512(tile.addend.multiplier + b * 16));
    }
  }

  // One pixel: sums(block) gives 16 of them.
  template <int Blocks, class Sums>
  [[gnu::always_inline]] void pixel(std::int64_t p, const Sums& sums) const {
    const std::uint8_t* data = addend_row(p);
    std::uint8_t* out = row(p);
    __m512i y[Blocks];
#pragma GCC unroll 4
    for (int b = 0; b < Blocks; ++b) y[b] = rescaled(sums(b), multipliers_of(b), data, b);
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
      const __m512i bytes = in_order(packed_pixel(y));
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
      const Multipliers multipliers = in_registers(multipliers_of(b));
      ((y[pixel++][b] = rescaled(sums[b], multipliers)), ...);
    }
    for (std::size_t pixel = 0; pixel < sizeof...(Sums); ++pixel)
      bytes[pixel] = packed_pixel(y[pixel]);
  }

  // Two blocks of many pixels, `first` and the one kApart after it, or `first` alone: where a pixel
  // lies, how far the next is from it, and what all of them need.
  static constexpr int kApart =  // halves of bytes are side by side
      Addend == FilterStorage::u4 || Out == FilterStorage::u4 ? 2 : 1;
  struct Pixel {
    std::uint8_t* out;
    const std::uint8_t* addend;
  };
  struct Columns {
    Multipliers multipliers[2];
    __m512i words;
    __mmask64 there;
    bool is_whole;
    std::int64_t out_step;
    std::int64_t addend_step;

    Pixel next(const Pixel& pixel) const {
      return {pixel.out + out_step,
              Addend == FilterStorage::none ? nullptr : pixel.addend + addend_step};
    }
  };
  template <int Blocks>
  [[gnu::always_inline]] Columns columns_of(int first) const {
    const int second = first + (Blocks - 1) * kApart;
    return {{in_registers(multipliers_of(first)), in_registers(multipliers_of(second))},
            in_register(words_of(first, second)),
            columns_ >> first * 16,
            tile_.columns == kFilterColumns,
            tile_.stride,
            tile_.addend.stride};
  }
  Pixel pixel_at(std::int64_t p, int first) const {
    return {row(p) + first * 16 * (Out == FilterStorage::s32 ? 4 : 1),
            addend_row(p) + first * kBlockBytes};
  }

  // sums(i, b) gives 16 of those of pixel i.
  template <int Blocks, class Sums>
  [[gnu::always_inline]] void two_pixels(const Columns& columns, const Pixel (&pixels)[2],
                                         const Sums& sums) const {
    __m512i y[4];
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const std::uint8_t* data = pixels[i].addend;
      y[2 * i] = rescaled(sums(i, 0), columns.multipliers[0], data, 0);
      y[2 * i + 1] =
          Blocks == 1 ? y[2 * i] : rescaled(sums(i, 1), columns.multipliers[1], data, kApart);
    }
    if constexpr (Out == FilterStorage::s32) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const int column = i % 2 * kApart * 16;
        if (i % 2 == Blocks) continue;
        _mm512_mask_storeu_epi32(reinterpret_cast<std::int32_t*>(pixels[i / 2].out) + column,
                                 static_cast<__mmask16>(columns.there >> column), clamped(y[i]));
      }
    } else {
      const __m512i bytes = in_order(packed(y, columns.words, columns.words));
      put_two_blocks(pixels[0].out, columns, _mm512_castsi512_si256(bytes));
      put_two_blocks(pixels[1].out, columns, _mm512_extracti64x4_epi64(bytes, 1));
    }
  }

  // The same for a pair of a pixel's blocks, `first` and the one Apart after it: what becomes of 16
  // sums, and both to memory. Of 64 outputs they are 2 apart, so that halves of bytes are side by
  // side; of 32 they are 1 apart.
  template <int Apart, bool IsSecond>
  [[gnu::always_inline]] __m512i half_of_pair(std::int64_t p, int first, __m512i sum) const {
    const int b = IsSecond ? Apart : 0;
    return rescaled(sum, multipliers_of(first + b), addend_row(p) + first * kBlockBytes, b);
  }
  template <int Apart>
  [[gnu::always_inline]] void put_pair(std::int64_t p, int first, __m512i y, __m512i second) const {
    std::uint8_t* out = row(p) + first * 16;
    const __m512i words = as_words(y, second, words_of(first, first + Apart));
    __m256i bytes =
        _mm256_packus_epi16(_mm512_castsi512_si256(words), _mm512_extracti64x4_epi64(words, 1));
    bytes = _mm256_min_epu8(bytes, _mm512_castsi512_si256(most_));
    if constexpr (!Positive) bytes = _mm256_max_epu8(bytes, _mm512_castsi512_si256(least_));
    bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 2, 6, 1, 5, 3, 7));
    if constexpr (Apart == 2) {
      put_halves(out, bytes);
    } else if (columns_ == 0xFFFF'FFFF) {  // masks are slow on some processors
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), bytes);
    } else {
      _mm256_mask_storeu_epi8(out, static_cast<__mmask32>(columns_), bytes);
    }
  }

 private:
  static constexpr bool kNarrow = Width == RescaleWidth::narrow;
  static constexpr bool kHalves = Width == RescaleWidth::halves;
  static constexpr bool kRoundsWords =
      (takes_upper(Width) || Width == RescaleWidth::words || kHalves) && Out != FilterStorage::s32;

  static constexpr int kBlockBytes = 16;  // of an addend's block

  // Of the last rounding, that of words.
  static int word_shift(const RescaleTile& tile) {
    if constexpr (Width == RescaleWidth::words || kHalves) return last_word_shift(tile.shift);
    return kRoundsWords ? std::min(tile.shift - 32, kWordShift) : 0;
  }

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
  [[gnu::always_inline]] static void put_two_blocks(std::uint8_t* out, const Columns& columns,
                                                    __m256i bytes) {
    const __mmask64 there = columns.there;
    if constexpr (Out == FilterStorage::u4) {
      put_halves(out, bytes);
    } else if constexpr (kApart == 2) {
      _mm_mask_storeu_epi8(out, static_cast<__mmask16>(there), _mm256_castsi256_si128(bytes));
      _mm_mask_storeu_epi8(out + 32, static_cast<__mmask16>(there >> 32),
                           _mm256_extracti128_si256(bytes, 1));
    } else if (columns.is_whole) {  // masks are slow on some processors
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), bytes);
    } else {
      _mm256_mask_storeu_epi8(out, static_cast<__mmask32>(there), bytes);
    }
  }

  __m512i clamped(__m512i y) const {
    return _mm512_min_epi32(_mm512_max_epi32(y, low_), high_);
  }

  // Halving widths saturates: to 16 bits, which no byte and zero reach, with kWordShift or fewer
  // bits behind the point neither. Those are rounded here: (x·2^(15-s) + 2^14) >> 15 is
  // (x + 2^(s-1)) >> s.
  [[gnu::always_inline]] __m512i as_words(__m512i y, __m512i second, __m512i multipliers) const {
    __m512i words = _mm512_packs_epi32(y, second);
    if constexpr (Width == RescaleWidth::words) words = _mm512_mulhi_epi16(words, multipliers);
    if constexpr (kRoundsWords) words = _mm512_mulhrs_epi16(words, last_shift_);
    return Positive ? words : _mm512_adds_epi16(words, zero_);
  }

  // To 0 … 255 then. Packing works on parts of 128 bits: of each, four bytes of every block.
  template <int Blocks>
  [[gnu::always_inline]] __m512i packed(const __m512i (&y)[Blocks], __m512i multipliers,
                                        __m512i second_multipliers) const {
    const __m512i first = as_words(y[0], y[Blocks > 1 ? 1 : 0], multipliers);
    __m512i second = first;
    if constexpr (Blocks > 2) second = as_words(y[2], y[Blocks - 1], second_multipliers);
    const __m512i bytes = _mm512_min_epu8(_mm512_packus_epi16(first, second), most_);
    return Positive ? bytes : _mm512_max_epu8(bytes, least_);
  }

  template <int Blocks>
  [[gnu::always_inline]] __m512i packed_pixel(const __m512i (&y)[Blocks]) const {
    return packed(y, words_of(0, Blocks > 1 ? 1 : 0), words_of(Blocks > 2 ? 2 : 0, Blocks - 1));
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

  // Each of 16 bytes twice, as words: to be multiplied by a factor in two parts.
  [[gnu::always_inline]] static __m512i doubled_addend_of(const std::uint8_t* data, int b) {
    const auto* at = reinterpret_cast<const __m128i*>(
        data + (Addend == FilterStorage::u4 ? b % 2 * 16 : b * 16));
    constexpr auto place = [](unsigned lane) {
      return static_cast<int>(0x8000'8000U + 0x0001'0001U * lane);
    };
    const __m512i places = _mm512_setr_epi32(
        place(0), place(1), place(2), place(3), place(4), place(5), place(6), place(7), place(8),
        place(9), place(10), place(11), place(12), place(13), place(14), place(15));
    const __m512i x = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128(at)), places);
    if constexpr (Addend != FilterStorage::u4) return x;
    return b < 2 ? _mm512_and_si512(x, _mm512_set1_epi16(15)) : _mm512_srli_epi16(x, 4);
  }

  Multipliers by_halves(__m512i multiplier, __m512i factor) const {
    factor = _mm512_maskz_mov_epi32(_mm512_test_epi32_mask(multiplier, multiplier), factor);
    const __m512i first = _mm512_min_epi32(factor, _mm512_set1_epi32(32767));
    const __m512i second = _mm512_sub_epi32(factor, first);
    return {multiplier, _mm512_slli_epi32(multiplier, 16),
            _mm512_or_si512(first, _mm512_slli_epi32(second, 16)),
            _mm512_sub_epi32(addend_shift_.half, _mm512_mullo_epi32(factor, addend_zero_))};
  }

  // floor(total·multiplier / 2^16), the total's lower half without a sign: half a step has no bit
  // below 2^16, so that it can be added later.
  [[gnu::always_inline]] __m512i halves(__m512i sum, const Multipliers& by,
                                        const std::uint8_t* data, int b) const {
    const __m512i start = SignedAddend ? by.start : addend_shift_.half;
    const __m512i added = _mm512_dpwssd_epi32(start, doubled_addend_of(data, b), by.of_addend);
    const __m512i total = _mm512_add_epi32(sum, _mm512_srav_epi32(added, addend_shift_.shift));
    return _mm512_dpwssd_epi32(_mm512_mulhi_epu16(total, by.first), total, by.second);
  }

  [[gnu::always_inline]] __m512i rescaled(__m512i sum, const Multipliers& by,
                                          const std::uint8_t* data, int b) const {
    if constexpr (Width == RescaleWidth::wide) return wide(sum, by, data, b);
    if constexpr (kHalves) return halves(sum, by, data, b);
    if constexpr (kNarrow && Addend != FilterStorage::none) {
      const __m512i product = _mm512_mullo_epi32(addend_of(data, b), by.of_addend);
      sum = _mm512_add_epi32(
          sum, SignedAddend ? addend_shift_(product) : addend_shift_.shifted(product));
    }
    return rescaled(sum, by);
  }

  [[gnu::always_inline]] Multipliers multipliers_of(int block) const {
    if constexpr (kHalves) return kept_[block];
    Multipliers result{_mm512_loadu_si512(tile_.multiplier + block * 16), {}, {}, {}};
    if constexpr (takes_upper(Width)) result.second = kept_[block].second;
    if constexpr (Addend != FilterStorage::none)
      result.of_addend = _mm512_loadu_si512(tile_.addend.multiplier + block * 16);
    return result;
  }
  [[gnu::always_inline]] static Multipliers in_registers(Multipliers by) {
    by.first = in_register(by.first);
    if constexpr (takes_upper(Width) || kHalves) by.second = in_register(by.second);
    if constexpr (Addend != FilterStorage::none) by.of_addend = in_register(by.of_addend);
    if constexpr (kHalves && SignedAddend) by.start = in_register(by.start);
    return by;
  }
  // Those of two blocks, as their words will lie.
  [[gnu::always_inline]] __m512i words_of(int block, int other) const {
    if constexpr (Width != RescaleWidth::words) return _mm512_setzero_si512();
    const __m512i both = _mm512_packs_epi32(_mm512_loadu_si512(tile_.multiplier + block * 16),
                                            _mm512_loadu_si512(tile_.multiplier + other * 16));
    return _mm512_sllv_epi16(both, first_shift_);
  }

  // Of a sum with what is added.
  [[gnu::always_inline]] __m512i rescaled(__m512i sum, const Multipliers& by) const {
    if constexpr (Width == RescaleWidth::words) return sum;
    if constexpr (Width == RescaleWidth::shifted) return shifted(sum, by.first);
    if constexpr (takes_upper(Width)) {
      const __m512i product = upper(sum, by);
      if constexpr (!kRoundsWords) return shift_.shifted(product);
      return Width == RescaleWidth::upper ? _mm512_srav_epi32(product, first_shift_) : product;
    }
    const __m512i product = _mm512_mullo_epi32(sum, by.first);
    return Positive ? shift_.shifted(product) : shift_(product);
  }

  // floor(sum·multiplier / 2^32): half a step has no bit below 2^32, so that it can be added later.
  [[gnu::always_inline]] static __m512i upper(__m512i sum, const Multipliers& by) {
    const __m512i even = _mm512_mul_epi32(sum, by.first);
    const __m512i odd = _mm512_mul_epi32(odd_lanes(sum), by.second);
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
  __m512i wide(__m512i sum, const Multipliers& by, const std::uint8_t* data, int b) const {
    __m512i x = _mm512_setzero_si512();
    if constexpr (Addend != FilterStorage::none) x = addend_of(data, b);
    const __m512i even = wide_lanes(sum, by.first, x, by.of_addend);
    const __m512i odd =
        wide_lanes(odd_lanes(sum), odd_lanes(by.first), odd_lanes(x), odd_lanes(by.of_addend));
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
  __m512i
      first_shift_;  // of upper halves: what leaves kWordShift; of multipliers of words and halves
  __m512i last_shift_;  // of words, 2^(15-s)
  NarrowShift addend_shift_;
  WideShift wide_shift_;
  WideShift wide_addend_shift_;
  __m512i low_;
  __m512i high_;
  __m512i least_;  // bytes
  __m512i most_;
  __m512i zero_;  // 16 bits each
  __m512i addend_zero_;
  Multipliers kept_[kFilterBlocks];  // what is not read from the tile
  __mmask64 columns_;
};

}  // namespace
}  // namespace nibble::inline kernels
