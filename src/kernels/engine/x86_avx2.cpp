// SPDX-License-Identifier: Apache-2.0
// The engine's kernel on AVX2, whose byte product saturates: values and weights go as 16 bits, and
// only where all values are halves (at most 15) as bytes.
#include <immintrin.h>

#include <algorithm>

#include "kernels/engine/loops.h"
#include "kernels/engine/x86_avx2_depthwise.h"
#include "kernels/engine/x86_avx2_rescale.h"
#include "kernels/integer_paths.h"

namespace nibble::inline kernels::avx2 {
namespace {

struct Path {};
using Loops = EngineLoops<Path>;

constexpr int kPixels = 6;  // 12 sums of eight outputs, a block for each pixel, stay in registers
constexpr std::int64_t kQuads = 256;    // of a row in a piece: what a tile reads stays in L1
constexpr std::int64_t kHalfQuads = 8;  // 8·2·15·128 fits 16 bits

__m256i load(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

void store(void* to, __m256i x) {
  _mm256_storeu_si256(static_cast<__m256i*>(to), x);
}

// Compilers would add terms to each other first, and run out of registers.
__m256i added(__m256i sum) {
  __asm__("" : "+x"(sum));
  return sum;
}

// A piece of the rows of a tile, taps one after another as the weights have them.
struct Piece {
  alignas(32) std::uint32_t quads[kPixels][kQuads];
  alignas(32) std::uint32_t evens[kPixels][kQuads];  // values 0 and 2 of a quad as 16 bits
  alignas(32) std::uint32_t odds[kPixels][kQuads];
};

// Where in the rows the next piece starts.
struct Place {
  std::int64_t tap = 0;
  std::int64_t k = 0;
};

// The bits of all values.
struct Seen {
  __m256i bits = _mm256_setzero_si256();
  std::uint32_t quads = 0;

  bool are_halves() const {
    const __m256i all = _mm256_or_si256(bits, _mm256_set1_epi32(static_cast<int>(quads)));
    return _mm256_testz_si256(all, _mm256_set1_epi8(static_cast<char>(0xF0))) != 0;
  }
};

// Copies a multiple of four bytes.
inline void copy_quads(const std::uint8_t* from, std::int64_t bytes, std::uint8_t* to, Seen& seen) {
  std::int64_t k = 0;
  for (; k + 32 <= bytes; k += 32) {
    const __m256i values = load(from + k);
    seen.bits = _mm256_or_si256(seen.bits, values);
    store(to + k, values);
  }
  for (; k < bytes; k += 4) {
    std::uint32_t quad = 0;
    __builtin_memcpy(&quad, from + k, sizeof quad);
    __builtin_memcpy(to + k, &quad, sizeof quad);
    seen.quads |= quad;
  }
}

// The next `quads` of each row. Returns whether all values are halves.
bool gather(const FilterTile& tile, Place& place, std::int64_t quads, Piece& piece) {
  Seen seen;
  Place end;
  for (int p = 0; p < tile.pixels; ++p) {
    auto* to = reinterpret_cast<std::uint8_t*>(piece.quads[p]);
    end = place;
    for (std::int64_t left = quads * 4; left > 0;) {
      const std::int64_t bytes = std::min(left, tile.depth - end.k);
      copy_quads(tile.rows[end.tap * tile.pixels + p] + end.k, bytes, to, seen);
      to += bytes;
      left -= bytes;
      end.k += bytes;
      if (end.k == tile.depth) end = {.tap = end.tap + 1, .k = 0};
    }
  }
  place = end;
  return seen.are_halves();
}

void widen(int pixels, std::int64_t quads, Piece& piece) {
  for (int p = 0; p < pixels; ++p) {
    for (std::int64_t q = 0; q < quads; q += 8) {
      const __m256i values = load(piece.quads[p] + q);
      store(piece.evens[p] + q, _mm256_and_si256(values, _mm256_set1_epi16(255)));
      store(piece.odds[p] + q, _mm256_srli_epi16(values, 8));
    }
  }
}

// Values 0 and 2 (1 and 3) of all quads times those of the weights.
template <int Pixels>
void add_pairs(__m256i (&sums)[Pixels][2], const std::uint32_t (*pairs)[kQuads], std::int64_t q,
               const __m256i (&columns)[2]) {
#pragma GCC unroll 6
  for (int p = 0; p < Pixels; ++p) {
    const __m256i pair = _mm256_set1_epi32(static_cast<int>(pairs[p][q]));
    sums[p][0] = added(_mm256_add_epi32(sums[p][0], _mm256_madd_epi16(pair, columns[0])));
    sums[p][1] = added(_mm256_add_epi32(sums[p][1], _mm256_madd_epi16(pair, columns[1])));
  }
}

// sums += piece · weights of one block.
template <int Pixels>
void add_block(const Piece& piece, std::int64_t quads, const std::int8_t* weights,
               std::int64_t stride, std::int32_t* to) {
  __m256i sums[Pixels][2];
#pragma GCC unroll 6
  for (int p = 0; p < Pixels; ++p) {
    sums[p][0] = load(to + p * kFilterColumns);
    sums[p][1] = load(to + p * kFilterColumns + 8);
  }
  for (std::int64_t q = 0; q < quads; ++q, weights += stride) {
    const __m256i first = load(weights);
    const __m256i second = load(weights + 32);
    add_pairs<Pixels>(sums, piece.odds, q,
                      {_mm256_srai_epi16(first, 8), _mm256_srai_epi16(second, 8)});
    add_pairs<Pixels>(sums, piece.evens, q,
                      {_mm256_srai_epi16(_mm256_slli_epi16(first, 8), 8),
                       _mm256_srai_epi16(_mm256_slli_epi16(second, 8), 8)});
  }
#pragma GCC unroll 6
  for (int p = 0; p < Pixels; ++p) {
    store(to + p * kFilterColumns, sums[p][0]);
    store(to + p * kFilterColumns + 8, sums[p][1]);
  }
}

// The same where all values are halves: up to kHalfQuads products are added in 16 bits.
template <int Pixels>
void add_halves(const Piece& piece, std::int64_t quads, const std::int8_t* weights,
                std::int64_t stride, std::int32_t* to) {
  const __m256i ones = _mm256_set1_epi16(1);
  for (std::int64_t start = 0; start < quads; start += kHalfQuads) {
    const std::int64_t end = std::min(start + kHalfQuads, quads);
    __m256i sums[Pixels][2] = {};
    for (std::int64_t q = start; q < end; ++q, weights += stride) {
      const __m256i first = load(weights);
      const __m256i second = load(weights + 32);
#pragma GCC unroll 6
      for (int p = 0; p < Pixels; ++p) {
        const __m256i quad = _mm256_set1_epi32(static_cast<int>(piece.quads[p][q]));
        sums[p][0] = added(_mm256_add_epi16(sums[p][0], _mm256_maddubs_epi16(quad, first)));
        sums[p][1] = added(_mm256_add_epi16(sums[p][1], _mm256_maddubs_epi16(quad, second)));
      }
    }
#pragma GCC unroll 6
    for (int p = 0; p < Pixels; ++p) {
      std::int32_t* sum = to + p * kFilterColumns;
      store(sum, _mm256_add_epi32(load(sum), _mm256_madd_epi16(sums[p][0], ones)));
      store(sum + 8, _mm256_add_epi32(load(sum + 8), _mm256_madd_epi16(sums[p][1], ones)));
    }
  }
}

template <int Pixels>
void add_piece(const FilterTile& tile, const Piece& piece, bool is_halves, std::int64_t quads,
               const std::int8_t* weights) {
  if (tile.pixels != Pixels) {
    if constexpr (Pixels > 1) {
      add_piece<Pixels - 1>(tile, piece, is_halves, quads, weights);
    }
    return;
  }
  const auto add = is_halves ? add_halves<Pixels> : add_block<Pixels>;
  for (std::int64_t b = 0; b < tile.blocks; ++b) {
    add(piece, quads, weights + b * 64, tile.blocks * 64, tile.sums + b * kFilterOutputs);
  }
}

void multiply(const FilterTile& tile) {
  for (int p = 0; p < tile.pixels; ++p) {
    std::copy_n(tile.bias, tile.blocks * kFilterOutputs, tile.sums + p * kFilterColumns);
  }
  Piece piece;
  Place place;
  const std::int8_t* weights = tile.weights;
  for (std::int64_t left = tile.taps * (tile.depth / 4); left > 0;) {
    const std::int64_t quads = std::min(left, kQuads);
    const bool is_halves = gather(tile, place, quads, piece);
    if (!is_halves) widen(tile.pixels, quads, piece);
    add_piece<kPixels>(tile, piece, is_halves, quads, weights);
    weights += quads * tile.blocks * 64;
    left -= quads;
  }
}

}  // namespace

constinit const EngineKernels kEngineKernels = {.multiply = multiply,
                                                .rescale = avx2_rescale<Path>,
                                                .depthwise = avx2_depthwise<Path>,
                                                .expand_s4 = Loops::expand_s4,
                                                .expand_u4 = Loops::expand_u4,
                                                .largest_u8 = Loops::largest_u8,
                                                .largest_u4 = Loops::largest_u4,
                                                .add_u8 = Loops::add_u8,
                                                .pixels = {0, kPixels, kPixels, kPixels, kPixels}};

}  // namespace nibble::inline kernels::avx2
