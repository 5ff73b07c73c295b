// SPDX-License-Identifier: Apache-2.0
// Products on AVX-512 VNNI by pairs of blocks, each beside the rescale of the pair before.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/engine/engine_kernels.h"
#include "kernels/engine/x86_avx512_lanes.h"

namespace nibble::inline kernels {
namespace {  // a copy for each file: they are compiled with flags of their own

inline __m512i quad_of(const std::uint8_t* from) {
  int quad = 0;
  __builtin_memcpy(&quad, from, sizeof quad);
  return _mm512_set1_epi32(quad);
}

// Where the next piece of pixels goes.
inline void advance(RescaleTile& rescale, int pixels) {
  rescale.out = static_cast<std::uint8_t*>(rescale.out) + pixels * rescale.stride;
  rescale.addend.data += pixels * rescale.addend.stride;
}

// Six pixels by two blocks at a time: while these are multiplied, the sums of the two before, which
// wait in registers, are rescaled. Much of that is done by other units of the processor. Tiles of
// 64 outputs have two such pairs, whose blocks are two apart, those of 32 one.
constexpr int kPaired = 6;

struct PairSums {
  __m512i of[kPaired][2];
};

// Steps of four channels in the first tap, which rescale meanwhile: each takes so many blocks of a
// pixel along, one, a whole pair's or those of two pixels.
constexpr std::int64_t least_depth(int taken) {
  return 4 * (2 * kPaired / taken);
}

// The pair of blocks `first` and first + Apart. `sums` are those of the pixels from `before` on, of
// the pair before; the first tap rescales them, `Taken` blocks a step, 0: none.
template <int Apart, int Taken, class Fetched, class Law>
[[gnu::always_inline]] inline void multiply_pair(const FilterTile& tile, Fetched& ahead, int first,
                                                 PairSums& sums, const Law& law,
                                                 std::int64_t before) {
  const int waiting = Apart - 1 - first;  // the first block of the pair before
  PairSums now;
#pragma GCC unroll 6
  for (int p = 0; p < kPaired; ++p) {
    now.of[p][0] = _mm512_loadu_si512(tile.bias + first * 16);
    now.of[p][1] = _mm512_loadu_si512(tile.bias + (first + Apart) * 16);
  }
  const std::int8_t* weights = tile.weights + first * 64;
  const std::uint8_t* const* rows = tile.rows;
  Fetched near = ahead;
  const auto tap = [&]<int Pixels>() __attribute__((always_inline)) {
    const std::uint8_t* row[kPaired] = {rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]};
    std::int64_t k = 0;
    const auto step = [&]() __attribute__((always_inline)) {
      near.fetch();
      const __m512i column = _mm512_loadu_si512(weights);
      const __m512i second = _mm512_loadu_si512(weights + Apart * 64);
#pragma GCC unroll 6
      for (int p = 0; p < kPaired; ++p) {
        const __m512i quad = quad_of(row[p] + k);
        now.of[p][0] = plus_products(now.of[p][0], quad, column);
        now.of[p][1] = plus_products(now.of[p][1], quad, second);
      }
      weights += 2 * Apart * 64;
      k += 4;
    };
#pragma GCC unroll 6
    for (int p = 0; p < Pixels; ++p) {
      __m512i(&y)[2] = sums.of[p];
      if (2 * p % std::max(Taken, 1) == 0) step();
      y[0] = law.template half_of_pair<Apart, false>(before + p, waiting, y[0]);
      if constexpr (Taken == 1) step();
      y[1] = law.template half_of_pair<Apart, true>(before + p, waiting, y[1]);
      law.template put_pair<Apart>(before + p, waiting, y[0], y[1]);
    }
    while (k < tile.depth) step();
    rows += tile.pixels;
  };
  if constexpr (Taken > 0) tap.template operator()<kPaired>();
  for (std::int64_t t = Taken > 0 ? 1 : 0; t < tile.taps; ++t) tap.template operator()<0>();
  sums = now;
  near.end_tile();
  ahead = near;
}

// All pieces have six pixels, or of 32 outputs twice as many.
template <int Apart, int Taken, class Fetched, class Law>
void multiply_rescale_pairs(const FilterTile& tile, Fetched& ahead, const Law& law,
                            std::span<const FilterPiece> pieces) {
  PairSums sums;
  std::int64_t pixel = 0;
  const auto second_pair = [&](FilterTile part) __attribute__((always_inline)) {
    if constexpr (Apart == 2) {
      multiply_pair<Apart, Taken>(part, ahead, 1, sums, law, pixel);
    } else if (part.pixels > kPaired) {
      part.rows += kPaired;
      multiply_pair<Apart, Taken>(part, ahead, 0, sums, law, pixel);
      pixel += kPaired;
    }
  };
  multiply_pair<Apart, 0>(pieces[0].of(tile), ahead, 0, sums, law, 0);
  second_pair(pieces[0].of(tile));
  for (const FilterPiece& piece : pieces.subspan(1)) {
    multiply_pair<Apart, Taken>(piece.of(tile), ahead, 0, sums, law, pixel);
    pixel += kPaired;
    second_pair(piece.of(tile));
  }
#pragma GCC unroll 6
  for (int p = 0; p < kPaired; ++p) {
    constexpr int kLast = Apart - 1;
    const auto& [first, second] = sums.of[p];
    law.template put_pair<Apart>(pixel + p, kLast,
                                 law.template half_of_pair<Apart, false>(pixel + p, kLast, first),
                                 law.template half_of_pair<Apart, true>(pixel + p, kLast, second));
  }
}

// Pieces of six or twelve pixels, which follow one another, by pairs; single(piece) does each of
// the others, and all where the first tap is too shallow to rescale meanwhile. The law is that of
// `next`, the place of the first.
template <int Apart, class Fetched, class Law, class Single>
void multiply_rescale_pieces(const FilterTile& tile, Fetched& ahead, const Law& law,
                             RescaleTile& next, std::span<const FilterPiece> pieces,
                             const Single& single) {
  const bool has_pairs = tile.depth >= least_depth(Law::kIsPlain ? 4 : 1);
  const auto is_paired = [&](const FilterPiece& piece) {
    return has_pairs && piece.pixels % kPaired == 0;
  };
  while (!pieces.empty()) {
    const auto other = std::ranges::find_if_not(pieces, is_paired);
    const auto paired = pieces.first(static_cast<std::size_t>(other - pieces.begin()));
    if (paired.empty()) {
      single(pieces[0]);
      advance(next, pieces[0].pixels);
      pieces = pieces.subspan(1);
      continue;
    }
    if (tile.depth >= least_depth(1)) {
      multiply_rescale_pairs<Apart, 1>(tile, ahead, law, paired);
    } else if constexpr (Law::kIsPlain) {
      if (tile.depth >= least_depth(2)) {
        multiply_rescale_pairs<Apart, 2>(tile, ahead, law, paired);
      } else {
        multiply_rescale_pairs<Apart, 4>(tile, ahead, law, paired);
      }
    }
    for (const FilterPiece& piece : paired) advance(next, piece.pixels);
    pieces = pieces.subspan(paired.size());
  }
}

}  // namespace
}  // namespace nibble::inline kernels
