// SPDX-License-Identifier: Apache-2.0
// The int8 product on AMX: a tile register holds 16 rows of 64 bytes. Registers 0 to 3 are the
// blocks of c, 4 and 5 whole pieces of a and b, 6 and 7 what is left of the depth.
#include <immintrin.h>

#include "kernels/integer_paths.h"
#include "kernels/products/tile_shape.h"

namespace nibble::inline kernels::amx {
namespace {

constexpr std::int64_t kPiece = 64;  // of the depth

// Setting shapes is slow, and others in this thread may set theirs: the processor says what they
// are.
void shape_tiles(std::int64_t rest) {
  TileShapes wanted;
  for (int tile = 0; tile < 6; ++tile) wanted.set(tile, 16, 64);
  if (rest > 0) {
    wanted.set(6, 16, rest);
    wanted.set(7, rest / 4, 64);
  }
  TileShapes current;
  current.store();
  const __mmask8 differs =
      _mm512_cmpneq_epi64_mask(_mm512_load_si512(&current), _mm512_load_si512(&wanted));
  if (differs != 0) wanted.load();
}

template <int Blocks>
void start(const ProductTile& tile) {
  if (!tile.accumulates) {
    _tile_zero(0);
    if constexpr (Blocks > 1) _tile_zero(1);
    if constexpr (Blocks > 2) _tile_zero(2);
    if constexpr (Blocks > 3) _tile_zero(3);
    return;
  }
  const std::int64_t stride = tile.c_stride * 4;
  _tile_loadd(0, tile.c, stride);
  if constexpr (Blocks > 1) _tile_loadd(1, tile.c + 16, stride);
  if constexpr (Blocks > 2) _tile_loadd(2, tile.c + 32, stride);
  if constexpr (Blocks > 3) _tile_loadd(3, tile.c + 48, stride);
}

template <int Blocks>
void finish(const ProductTile& tile) {
  const std::int64_t stride = tile.c_stride * 4;
  _tile_stored(0, tile.c, stride);
  if constexpr (Blocks > 1) _tile_stored(1, tile.c + 16, stride);
  if constexpr (Blocks > 2) _tile_stored(2, tile.c + 32, stride);
  if constexpr (Blocks > 3) _tile_stored(3, tile.c + 48, stride);
}

struct Piece {
  const std::int8_t* a;
  const std::int8_t* b;
};

// Loads of tiles that miss the first cache wait for each other; lines asked for a piece ahead are
// there in time.
void ask_for(const std::int8_t* tile, std::int64_t stride) {
#pragma GCC unroll 16
  for (int row = 0; row < 16; ++row) _mm_prefetch(tile + row * stride, _MM_HINT_T0);
}

template <int Blocks>
void add_piece(const Piece& piece, const Piece& next, const ProductTile& tile) {
  _tile_loadd(4, piece.a, tile.a_stride);
  ask_for(next.a, tile.a_stride);
  _tile_loadd(5, piece.b, tile.b_stride);
  _tile_dpbssd(0, 4, 5);
  ask_for(next.b, tile.b_stride);
  if constexpr (Blocks > 1) {
    _tile_loadd(5, piece.b + 64, tile.b_stride);
    _tile_dpbssd(1, 4, 5);
    ask_for(next.b + 64, tile.b_stride);
  }
  if constexpr (Blocks > 2) {
    _tile_loadd(5, piece.b + 128, tile.b_stride);
    _tile_dpbssd(2, 4, 5);
    ask_for(next.b + 128, tile.b_stride);
  }
  if constexpr (Blocks > 3) {
    _tile_loadd(5, piece.b + 192, tile.b_stride);
    _tile_dpbssd(3, 4, 5);
    ask_for(next.b + 192, tile.b_stride);
  }
}

template <int Blocks>
void add_rest(const std::int8_t* a, const std::int8_t* b, const ProductTile& tile) {
  _tile_loadd(6, a, tile.a_stride);
  _tile_loadd(7, b, tile.b_stride);
  _tile_dpbssd(0, 6, 7);
  if constexpr (Blocks > 1) {
    _tile_loadd(7, b + 64, tile.b_stride);
    _tile_dpbssd(1, 6, 7);
  }
  if constexpr (Blocks > 2) {
    _tile_loadd(7, b + 128, tile.b_stride);
    _tile_dpbssd(2, 6, 7);
  }
  if constexpr (Blocks > 3) {
    _tile_loadd(7, b + 192, tile.b_stride);
    _tile_dpbssd(3, 6, 7);
  }
}

template <int Blocks>
void multiply_blocks(std::span<const ProductTerm> terms, const ProductTile& tile) {
  const std::int64_t rest = tile.depth % kPiece;
  const std::int64_t whole = tile.depth - rest;
  shape_tiles(rest);
  start<Blocks>(tile);
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const ProductTerm& after = terms[t + 1 < terms.size() ? t + 1 : t];
    Piece piece{terms[t].a, terms[t].b};
    for (std::int64_t k = kPiece; k <= whole; k += kPiece) {
      const Piece next{piece.a + kPiece, piece.b + kPiece / 4 * tile.b_stride};
      add_piece<Blocks>(piece, k < whole ? next : Piece{after.a, after.b}, tile);
      piece = next;
    }
    if (rest > 0) add_rest<Blocks>(piece.a, piece.b, tile);
  }
  finish<Blocks>(tile);
}

void multiply(std::span<const ProductTerm> terms, const ProductTile& tile) {
  switch (tile.column_blocks) {
    case 1:
      return multiply_blocks<1>(terms, tile);
    case 2:
      return multiply_blocks<2>(terms, tile);
    case 3:
      return multiply_blocks<3>(terms, tile);
    default:
      return multiply_blocks<4>(terms, tile);
  }
}

}  // namespace

constinit const ProductKernels kProductKernels = {
    .multiply = multiply, .sums = nullptr, .requantize = avx512vnni::requantize, .b_flip = 0};

}  // namespace nibble::inline kernels::amx
