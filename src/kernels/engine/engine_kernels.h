// SPDX-License-Identifier: Apache-2.0
// The kernel under the integer engine: sums of u8 values times s8 weights for a few pixels and up
// to 64 outputs, exact in int32, and their way back to few bits by the rescale law.
#pragma once

#include <cstdint>
#include <span>

namespace nibble::inline kernels {

inline constexpr int kFilterOutputs = 16;  // of a block: columns of a tile come in blocks
inline constexpr int kFilterBlocks = 4;    // at most in a tile
inline constexpr int kFilterColumns = kFilterOutputs * kFilterBlocks;
inline constexpr int kFilterPixels = 32;  // at most in a tile of any path

// sums[p][o] = bias[o] + Σ_t Σ_k rows[t·pixels + p][k]·weight(t, k, o) for p < pixels,
// o < 16·blocks. Sums may leave int32 on the way (they wrap), not at the end.
struct FilterTile {
  const std::uint8_t* const* rows = nullptr;  // by tap, then pixel: `depth` bytes each
  // weight(t, k, o) is at ((t·depth/4 + k/4)·16·blocks + o)·4 + k%4
  const std::int8_t* weights = nullptr;
  const std::int32_t* bias = nullptr;
  std::int32_t* sums = nullptr;  // [pixel][kFilterColumns]
  std::int64_t taps = 1;
  std::int64_t depth = 4;  // a multiple of 4
  int pixels = 1;          // 1 to the path's `pixels[blocks]`
  int blocks = 1;
  std::span<const std::uint8_t> ahead =
      {};  // needed after these tiles: a path may fetch it meanwhile
};

// The pixels of one tile, and which taps they need.
struct FilterPiece {
  const std::uint8_t* const* rows = nullptr;  // of the first of these taps
  std::int64_t first_tap = 0;
  std::int64_t taps = 1;
  int pixels = 1;

  // The tile of these pixels; `whole` has the weights of all taps.
  FilterTile of(FilterTile whole) const {
    whole.rows = rows;
    whole.weights += first_tap * whole.depth * kFilterOutputs * whole.blocks;
    whole.taps = taps;
    whole.pixels = pixels;
    return whole;
  }
};

inline constexpr std::int64_t kFilterRun = 64;  // bytes of a matrix's row at a time

// Which pixels have a result: pixels lie in rows of `width`, `height` rows are a picture, and its
// first `rows` rows have results in their first `columns`. Windows that meet (RescaleTile) need
// all.
struct KeptPixels {
  std::int64_t width = 1;
  std::int64_t columns = 1;
  std::int64_t height = 1;
  std::int64_t rows = 1;
  std::int64_t first_row = 0;  // of the first pixel, which is the first of that row

  bool is_all() const { return columns == width && rows == height; }
  bool has(std::int64_t pixel) const {
    return pixel % width < columns && (first_row + pixel / width) % height < rows;
  }
};

// Rows that lie evenly: all taps of a pixel in one run, pixel p's at values + p·stride. As many
// bytes as row_bytes says can be read of each; the weights that meet those beyond the taps are 0.
// Panels of weights lie by blocks, so that what is needed at a time is one run: weight(t, k, o) is
// at (o/16·row_bytes + i - i%4)·16 + o%16·4 + i%4 with i = t·depth + k.
struct FilterMatrix {
  const std::uint8_t* values = nullptr;
  std::int64_t stride = 0;
  std::int64_t pixels = 0;
  // Where each kFilterRun bytes of a row lie, from its beginning; null: one behind the other. So
  // the windows of a picture with borders overlap, and are read where they are. Then pixels on
  // borders have rows too, and no result.
  const std::int64_t* runs = nullptr;
  KeptPixels kept = {};
};

inline std::int64_t row_bytes(std::int64_t taps, std::int64_t depth) {
  return (taps * depth + kFilterRun - 1) / kFilterRun * kFilterRun;
}

// One channel to one: sums[p][c] = bias[c] + Σ_y Σ_x rows[y·row_step + p·stride + x·dilation][c]·
// weight(y, x, c) for p < pixels, c < 16·blocks. Sums may leave int32 on the way, not at the end.
struct DepthwiseTile {
  // By row of the kernel, then column of the picture; kFilterColumns bytes may be read of each.
  const std::uint8_t* const* rows = nullptr;
  std::int64_t row_step = 0;
  std::int64_t channel = 0;  // added to each row
  // weight(y, x, c) is at ((x·quads() + y/4)·16·blocks + c)·4 + y%4, 0 below the kernel
  const std::int8_t* weights = nullptr;
  const std::int32_t* bias = nullptr;
  std::int32_t* sums = nullptr;     // [pixel][kFilterColumns]
  std::uint8_t* scratch = nullptr;  // scratch_bytes(), for the path alone
  std::int64_t kernel_rows = 1;
  std::int64_t kernel_columns = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  int pixels = 1;
  int blocks = 1;

  std::int64_t quads() const { return (kernel_rows + 3) / 4; }
  std::int64_t columns() const {
    return (pixels - 1) * stride + (kernel_columns - 1) * dilation + 1;
  }
  std::int64_t scratch_bytes() const { return columns() * quads() * kFilterColumns * 4; }
};

// How the bytes of a stored value are read. u4: groups of 64 channels in 32 bytes, channel c of the
// first half of a group is the low half of byte c, channel c + 32 its high half.
enum class FilterStorage : std::uint8_t { none, u8, u4, s32 };

// x·multiplier / 2^shift of a stored x: the second term of a sum.
struct FilterAddend {
  FilterStorage storage = FilterStorage::none;  // none, u8 or u4
  const std::uint8_t* data = nullptr;           // of the first pixel and column; 16 at a time read
  std::int64_t stride = 0;                      // bytes from pixel to pixel
  const std::int32_t* multiplier = nullptr;     // by column, 16 at a time; not negative
  int shift = 0;
  int zero = 0;  // of the storage; u4 has none
};

// y[p][o] = clamp(R((sum + R(x·f, t))·multiplier[o], shift), low, high) + zero with
// sum = the largest of sums[p·window][o] to sums[p·window + window - 1][o]: what is rescaled rises
// with the sum, so that the largest of rescaled sums is the rescaled largest.
struct RescaleTile {
  const std::int32_t* sums = nullptr;  // [pixel·window][kFilterColumns]
  int pixels = 0;
  int window = 1;   // more: no addend
  int columns = 0;  // no byte beyond them is written; u4: 64
  FilterAddend addend = {};
  // By column, 16 at a time, and one number beyond may be read; not negative.
  const std::int32_t* multiplier = nullptr;
  int shift = 0;
  std::int32_t low = 0;
  std::int32_t high = 0;
  int zero = 0;
  bool is_wide = true;    // false: every product and sum, half a step included, is below 2^31
  bool has_ties = true;   // false: no product with a multiplier is half-way between two results
  bool is_small = false;  // true: fits_words or, with an addend, fits_halves (laws/small_rescale.h)
  FilterStorage storage = FilterStorage::u8;  // of y; s32: y is written as it is, without zero
  void* out = nullptr;
  std::int64_t stride = 0;  // bytes from pixel to pixel
};

// Lines of depthwise outputs, one below the other.
struct DepthwiseLines {
  int count = 1;
  std::int64_t row_step = 0;  // from a line's rows to those of the next
  std::int64_t pixels = 0;    // from its outputs to those of the next

  // Calls body(tile, rescale) for every line; those given are the first's.
  template <class Body>
  void each(DepthwiseTile tile, RescaleTile rescale, const Body& body) const {
    for (int line = 0; line < count; ++line) {
      body(tile, rescale);
      tile.rows += row_step;
      rescale.out = static_cast<std::uint8_t*>(rescale.out) + pixels * rescale.stride;
      rescale.addend.data += pixels * rescale.addend.stride;
    }
  }
};

// clamp(R((x - zero)·multiplier, shift), low, high) of bytes x: an operand of a sum. 32 bits hold
// it before it is clamped, too.
struct ByteTerm {
  const std::uint8_t* from = nullptr;
  int zero = 0;
  std::int32_t multiplier = 1;  // not negative
  int shift = 0;
  std::int32_t low = 0;
  std::int32_t high = 0;
};

// The functions of one path; whoever loops over tiles fetches them once.
struct EngineKernels {
  void (*multiply)(const FilterTile& tile);
  void (*rescale)(const RescaleTile& tile);
  // Both, for tiles of pixels that follow one another: `tile` without rows, taps and pixels, which
  // each piece has, and `rescale` for the first pixel of the first. Pieces have whole windows. Sums
  // need not be written. Null:
  // there is nothing better than one after the other.
  void (*multiply_rescale)(const FilterTile& tile, const RescaleTile& rescale,
                           std::span<const FilterPiece> pieces) = nullptr;

  // The same for a matrix of any number of pixels; `panel` without rows and sums, its weights as
  // matrices have them. Not null: taken wherever rows lie evenly, or are copied to lie so.
  void (*multiply_matrix)(const FilterMatrix& matrix, const FilterTile& panel,
                          const RescaleTile& rescale) = nullptr;
  // `count` rows of `bytes`, from_stride and to_stride apart. There where multiply_matrix is.
  void (*copy_rows)(const std::uint8_t* from, std::int64_t from_stride, std::uint8_t* to,
                    std::int64_t to_stride, std::int64_t count, std::int64_t bytes) = nullptr;

  void (*depthwise)(const DepthwiseTile& tile);
  // Both, for the same pixels of some lines, the first of which is given; null as above.
  void (*depthwise_rescale)(const DepthwiseTile& tile, const RescaleTile& rescale,
                            const DepthwiseLines& lines) = nullptr;

  // Signed halves to bytes: byte i of 64 gives to[i] (low half) and to[i + 64] (high half).
  void (*expand_s4)(const std::uint8_t* from, std::int8_t* to, std::int64_t groups);
  // Groups of 64 channels as FilterStorage::u4 has them.
  void (*expand_u4)(const std::uint8_t* from, std::uint8_t* to, std::int64_t groups);

  // to[i] = the largest of rows[r][i], and the same for packed halves. At least one row.
  void (*largest_u8)(const std::uint8_t* const* rows, int count, std::uint8_t* to,
                     std::int64_t bytes);
  void (*largest_u4)(const std::uint8_t* const* rows, int count, std::uint8_t* to,
                     std::int64_t bytes);
  // to[i] += rows[r][i] over all rows.
  void (*add_u8)(const std::uint8_t* const* rows, int count, std::int32_t* to, std::int64_t bytes);

  // to[i] = first + second of byte i, which 32 bits hold. Null: tables of all bytes are faster.
  void (*add_terms)(const ByteTerm& first, const ByteTerm& second, std::int32_t* to,
                    std::int64_t count) = nullptr;

  int pixels[kFilterBlocks + 1];  // of the largest tile, by blocks
};

// The path of active_isa().
const EngineKernels& engine_kernels();

}  // namespace nibble::inline kernels
