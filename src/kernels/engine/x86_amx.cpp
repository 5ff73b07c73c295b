// SPDX-License-Identifier: Apache-2.0
// The engine's kernel on AMX. The rows of all taps count as one row each, as the weights have them,
// and are multiplied 64 bytes at a time.
#include <immintrin.h>

#include <algorithm>

#include "kernels/engine/loops.h"
#include "kernels/engine/paths.h"
#include "kernels/engine/x86_avx512_depthwise.h"
#include "kernels/engine/x86_avx512_rescale.h"
#include "kernels/products/tile_shape.h"

namespace nibble::inline kernels::amx {
namespace {

struct Path {};
using Loops = EngineLoops<Path>;

constexpr int kHalf = 16;  // pixels of a tile register; a tile has one or two halves
constexpr std::int64_t kPiece = 64;
constexpr int kPieces = 18;  // gathered at once

struct Source {
  const std::uint8_t* rows = nullptr;
  std::int64_t stride = kPiece;
};

// Up to kPieces pieces of the rows: where they are, or copied together.
class Pieces {
 public:
  explicit Pieces(const FilterTile& tile)
      : tile_(tile),
        length_(tile.taps * tile.depth),
        width_(std::min(length_, kPiece)),
        count_((length_ + kPiece - 1) / kPiece) {}

  std::int64_t width() const { return width_; }  // bytes of every piece
  std::int64_t count() const { return count_; }
  // The last piece ends where the rows do, so that all are equally wide.
  std::int64_t start_of(std::int64_t piece) const {
    return std::min(piece * kPiece, length_ - width_);
  }
  const Source& source(std::int64_t i, int half) const { return sources_[i][half]; }

  // Pieces first, … of `count`, which `source` then gives from 0 on.
  void gather(std::int64_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      for (int half = 0; half * kHalf < tile_.pixels; ++half) {
        sources_[i][half] = gathered(first + i, half, staged_[i][half]);
      }
    }
    // GCC does not know that tiles read memory.
    __asm__ volatile("" : : "r"(staged_) : "memory");
  }

 private:
  Source gathered(std::int64_t piece, int half, std::uint8_t (*to)[kPiece]) {
    const std::int64_t start = start_of(piece);
    const std::int64_t seen = piece * kPiece - start;  // bytes that the piece before had
    const std::int64_t tap = start / tile_.depth;
    const std::int64_t k = start % tile_.depth;
    const int pixel = half * kHalf;
    const int pixels = std::min(tile_.pixels - pixel, kHalf);
    if (seen == 0 && k + width_ <= tile_.depth) {
      const std::uint8_t* const* rows = tile_.rows + tap * tile_.pixels + pixel;
      const std::int64_t stride = pixels > 1 ? rows[1] - rows[0] : kPiece;
      if (lie_evenly(rows, pixels, stride)) return {.rows = rows[0] + k, .stride = stride};
    }
    for (int p = 0; p < pixels; ++p) {
      if (seen > 0) _mm512_store_si512(to[p], _mm512_setzero_si512());
      copy(pixel + p, start + seen, width_ - seen, to[p] + seen);
    }
    return {.rows = to[0], .stride = kPiece};
  }

  static bool lie_evenly(const std::uint8_t* const* rows, int count, std::int64_t stride) {
    bool is_even = true;
    for (int p = 2; p < count; ++p) is_even &= rows[p] - rows[p - 1] == stride;
    return is_even;
  }

  // `bytes` of a pixel's row from `start` on, over the ends of taps.
  void copy(int pixel, std::int64_t start, std::int64_t bytes, std::uint8_t* to) const {
    std::int64_t tap = start / tile_.depth;
    std::int64_t k = start % tile_.depth;
    while (bytes > 0) {
      const std::int64_t part = std::min(bytes, tile_.depth - k);
      const __mmask16 quads = first_lanes(part / 4);
      const std::uint8_t* from = tile_.rows[tap * tile_.pixels + pixel] + k;
      _mm512_mask_storeu_epi32(to, quads, _mm512_maskz_loadu_epi32(quads, from));
      to += part;
      bytes -= part;
      k = 0;
      ++tap;
    }
  }

  const FilterTile& tile_;
  std::int64_t length_, width_, count_;
  Source sources_[kPieces][2];
  alignas(64) std::uint8_t staged_[kPieces][2][kHalf][kPiece];
};

// Registers 0 to 3 are sums, 4 and 5 values of the halves, 6 and 7 weights. Setting shapes is slow,
// and others in this thread may set theirs: the processor says what they are.
void shape_tiles(int pixels, std::int64_t width) {
  const int first = std::min(pixels, kHalf);
  const int second = pixels > kHalf ? pixels - kHalf : first;
  TileShapes wanted;
  wanted.set(0, first, 64);
  wanted.set(1, first, 64);
  wanted.set(2, second, 64);
  wanted.set(3, second, 64);
  wanted.set(4, first, width);
  wanted.set(5, second, width);
  wanted.set(6, width / 4, 64);
  wanted.set(7, width / 4, 64);
  TileShapes current;
  current.store();
  const __mmask8 differs =
      _mm512_cmpneq_epi64_mask(_mm512_load_si512(&current), _mm512_load_si512(&wanted));
  if (differs != 0) wanted.load();
}

// The sums of a pass: with one half up to four blocks, with two of them up to two, the second
// half's in registers 2 and 3. A stride of 0 gives all pixels the same.
template <int Halves, int Blocks>
void start(const std::int32_t* from, std::int64_t stride) {
  const std::int32_t* second = Halves == 2 ? from + kHalf * stride / 4 : from + 32;
  _tile_loadd(0, from, stride);
  if constexpr (Blocks > 1) _tile_loadd(1, from + 16, stride);
  if constexpr (Halves == 2 || Blocks > 2) _tile_loadd(2, second, stride);
  if constexpr (Halves * Blocks > 3) _tile_loadd(3, second + 16, stride);
}

template <int Halves, int Blocks>
void finish(std::int32_t* to) {
  constexpr std::int64_t kStride = kFilterColumns * 4;
  std::int32_t* second = Halves == 2 ? to + kHalf * kFilterColumns : to + 32;
  _tile_stored(0, to, kStride);
  if constexpr (Blocks > 1) _tile_stored(1, to + 16, kStride);
  if constexpr (Halves == 2 || Blocks > 2) _tile_stored(2, second, kStride);
  if constexpr (Halves * Blocks > 3) _tile_stored(3, second + 16, kStride);
}

template <int Halves, int Blocks>
void add_piece(const Source& first, const Source& second, const std::int8_t* weights,
               std::int64_t stride) {
  _tile_loadd(4, first.rows, first.stride);
  _tile_loadd(6, weights, stride);
  _tile_dpbusd(0, 4, 6);
  if constexpr (Blocks > 1) {
    _tile_loadd(7, weights + 64, stride);
    _tile_dpbusd(1, 4, 7);
  }
  if constexpr (Halves == 2) {
    _tile_loadd(5, second.rows, second.stride);
    _tile_dpbusd(2, 5, 6);
    if constexpr (Blocks > 1) _tile_dpbusd(3, 5, 7);
  } else {
    if constexpr (Blocks > 2) {
      _tile_loadd(6, weights + 128, stride);
      _tile_dpbusd(2, 4, 6);
    }
    if constexpr (Blocks > 3) {
      _tile_loadd(7, weights + 192, stride);
      _tile_dpbusd(3, 4, 7);
    }
  }
}

// Pieces first, … of `count`, which are gathered, for the blocks from `block` on.
template <int Halves, int Blocks>
void add_pieces(const FilterTile& tile, const Pieces& pieces, std::int64_t first,
                std::int64_t count, std::int64_t block) {
  std::int32_t* sums = tile.sums + block * kFilterOutputs;
  if (first == 0) {
    start<Halves, Blocks>(tile.bias + block * kFilterOutputs, 0);
  } else {
    start<Halves, Blocks>(sums, kFilterColumns * 4);
  }
  const std::int64_t stride = tile.blocks * 64;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int8_t* weights =
        tile.weights + pieces.start_of(first + i) / 4 * stride + block * 64;
    add_piece<Halves, Blocks>(pieces.source(i, 0), pieces.source(i, 1), weights, stride);
  }
  finish<Halves, Blocks>(sums);
}

void add_pieces(const FilterTile& tile, const Pieces& pieces, std::int64_t first,
                std::int64_t count) {
  if (tile.pixels > kHalf) {
    if (tile.blocks == 1) return add_pieces<2, 1>(tile, pieces, first, count, 0);
    add_pieces<2, 2>(tile, pieces, first, count, 0);
    if (tile.blocks == 3) add_pieces<2, 1>(tile, pieces, first, count, 2);
    if (tile.blocks == 4) add_pieces<2, 2>(tile, pieces, first, count, 2);
    return;
  }
  switch (tile.blocks) {
    case 1:
      return add_pieces<1, 1>(tile, pieces, first, count, 0);
    case 2:
      return add_pieces<1, 2>(tile, pieces, first, count, 0);
    case 3:
      return add_pieces<1, 3>(tile, pieces, first, count, 0);
    default:
      return add_pieces<1, 4>(tile, pieces, first, count, 0);
  }
}

void multiply(const FilterTile& tile) {
  Pieces pieces(tile);
  shape_tiles(tile.pixels, pieces.width());
  for (std::int64_t first = 0; first < pieces.count(); first += kPieces) {
    const std::int64_t count = std::min<std::int64_t>(pieces.count() - first, kPieces);
    pieces.gather(first, count);
    add_pieces(tile, pieces, first, count);
  }
}

}  // namespace

constinit const EngineKernels kEngineKernels = {.multiply = multiply,
                                                .rescale = avx512_rescale<Path>,
                                                .depthwise = avx512_depthwise<Path>,
                                                .depthwise_rescale = avx512_depthwise_rescale<Path>,
                                                .expand_s4 = Loops::expand_s4,
                                                .expand_u4 = Loops::expand_u4,
                                                .largest_u8 = Loops::largest_u8,
                                                .largest_u4 = Loops::largest_u4,
                                                .add_u8 = Loops::add_u8,
                                                .pixels = {0, 32, 32, 32, 32}};

}  // namespace nibble::inline kernels::amx
