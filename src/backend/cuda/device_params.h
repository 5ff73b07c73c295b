// SPDX-License-Identifier: Apache-2.0
// What kernels are told: plain numbers and addresses, without gaps, so that two calls can be
// compared byte by byte.
//
// Values lie image after image as (row, column, channel), a byte a number, channels filled up with
// zeros to a multiple of 16. A row is one pixel of one image; a chunk is 16 of its channels.
#pragma once

#include <cstdint>

#include "backend/cuda/device_state.h"
#include "backend/cuda/group_span.h"
#include "backend/cuda/tensor_map.h"
#include "laws/integer_division.h"
#include "laws/round_shift.h"

namespace nibble::cuda {

inline constexpr int kChunk = 16;

// A tensor of a batch.
struct Rows {
  std::int8_t* data;
  std::int32_t* exponent;
  std::uint32_t rows;  // images · pixels
  std::uint32_t channels;
  Divisor chunks;  // by the chunks of a row
  Divisor pixels;  // by the rows of an image

  std::uint32_t pitch() const { return chunks.divisor * kChunk; }
};

// Where sums become int8.
struct RoundingSite {
  DevicePoint* point;
  const DeviceStep* step;
  std::int8_t* second;  // memory of results by the shift before; null: one guess must do
  std::int64_t elements;
  std::uint32_t stream;
  ShiftRounding rounding;
  bool is_repeat;    // after a wrong guess; returns at once where the guess was right
  bool meets_ranks;  // the host decides, with the maxima of all ranks
  std::uint8_t unused;
};

// Pixels that meet taps: table[pixel·taps + tap] is the pixel of the source, or -1.
struct TapTable {
  const std::int32_t* sources;
  std::int64_t taps;
};

// Rows of an operand of a product, each a sequence of segments that lie elsewhere: row r = (q, p)
// with q = ⌊r / divisor⌋ has its segment s at
//   data + q·q_stride + p·p_stride + table[q·table_q + p·table_p + s·table_s]·place_bytes,
// and zeros where the table says -1.
struct GatheredRows {
  const std::int8_t* data;
  const std::int32_t* table;
  std::int64_t q_stride;
  std::int64_t p_stride;
  std::int32_t table_q;
  std::int32_t table_p;
  std::int32_t table_s;
  std::uint32_t rows;
  Divisor divisor;
  std::uint32_t place_bytes;  // from place to place of the table; segments may be shorter
};

// The windows of a product as the copy engine brings them: rows are places of the window, columns
// are filters, both cut into parts of `segment` bytes of one tap.
struct WindowCopies {
  TensorMap rows;
  TensorMap columns;
  Divisor pixels;          // of the result
  Divisor width;           // of the result
  std::int32_t first[2];   // x, y of the first tap at the result's first pixel
  std::int32_t stride[2];  // from pixel to pixel of the result
  std::uint32_t taps[2];
  std::uint32_t step[2];    // from tap to tap
  std::uint32_t extent[2];  // of the source
  std::uint32_t tap_bytes;  // of a filter
  std::uint32_t segments;   // of a tap
  std::uint32_t segment;    // 0: none are made, tables must do
  std::uint32_t is_turned;  // the first tap comes last
  std::uint32_t is_flat;    // rows are pixels one behind the other
  std::uint32_t band_rows;  // of a tile, which are whole lines of one picture; 0: rows go on
  // Rows of a tile are images of one pixel, pixels in this order: taps outside of the picture are
  // then left out, and results can be stored turned. Null: rows are pixels, image after image.
  const std::int32_t* order;
  Divisor images;
  std::uint32_t unused;
  // Rows of a tile are patches of so many images, each of two lines of kPatchWidth pixels; 0: they
  // are not.
  std::uint32_t patch_images;
  Divisor patch_pixels;  // those of so many images
};
inline constexpr std::uint32_t kPatchWidth = 8;
inline constexpr std::uint32_t kPatchPixels = 2 * kPatchWidth;

// The gradient of a weight as the copy engine brings it: rows are errors of one result channel,
// columns the numbers of one channel that meet them at a tap, both cut into parts of `segment`
// images of one pixel.
struct GradientCopies {
  TensorMap rows;
  TensorMap columns;
  TensorMap sums;          // where they are added, as boxes of kSumBox
  Divisor width;           // of the errors
  std::int32_t first[2];   // x, y of the input that the first error meets at the first tap
  std::int32_t stride[2];  // from pixel to pixel of the errors
  std::int32_t step[2];    // from tap to tap
  Divisor taps_x;
  std::uint32_t channels;      // of the input
  std::uint32_t tile_columns;  // 64, 192 or 256
  std::uint32_t block_bits;    // 2^this channels are what one copy brings
  Divisor blocks;              // of a tap
  std::uint32_t all_blocks;
  std::uint32_t outs;
  Divisor segments;          // of a pixel
  std::uint32_t all_stages;  // of 128 bytes, over all pixels
  std::uint32_t segment;     // 0: none are made, tables must do
  std::uint32_t has_sums;    // there is a map of them
};
inline constexpr std::uint32_t kSumBox[2] = {32, 8};  // columns, rows

// C(row, column) = Σ a(row, k)·b(column, k) over all bytes k of all segments.
struct ProductShape {
  GatheredRows a;
  const std::int8_t* b;  // columns one after the other
  GroupSpan span;        // of columns in groups: what of the rows a tile of them meets
  std::uint32_t columns;
  std::uint32_t segments;
  Divisor segment_chunks;
  // Filled in by who computes. Tiles begin at image · image_rows + band · band_rows; where rows go
  // on from picture to picture, each has one band of a tile's rows.
  Divisor column_tiles;
  std::uint32_t tiles;   // of rows and columns
  std::uint32_t depths;  // of 128 bytes that one block takes
  Divisor bands;
  std::uint32_t band_rows;
  std::uint32_t image_rows;
  std::uint32_t unused;
};

// What is added to sums of products before they are rounded.
struct AddedBias {
  const std::int8_t* mantissas;  // null: none
  const std::int32_t* exponent;
  const std::int32_t* weight_exponent;
};

// The largest of two by two pixels of a rectified product, which is not stored itself.
struct PooledRows {
  std::int8_t* values;  // null: there is no pool
  std::uint8_t* marks;
  std::int32_t* exponents[2];  // where the exponent goes once more; null: nowhere
};

// Rounds every sum into a row of the result.
struct RoundedProduct {
  ProductShape shape;
  RoundingSite site;
  const std::int32_t* input_exponent;
  AddedBias bias;
  Rows result;
  // A rectifier that follows: where the exponent goes once more; null: there is none. Of errors,
  // `passed` are the values whose errors pass where they are above zero.
  std::int32_t* rectified_exponent;
  const std::int8_t* passed;
  // Where results go once more, as gradients read them (TurnJob); null, or the copies have an
  // order.
  std::int8_t* turned;
  Divisor column_parts;  // of 128
  std::uint32_t unused;
  PooledRows pooled;  // with copies of patches
  WindowCopies copies;
};

// Holds every sum in 16 bits, by the shift of its column (laws/batch_norm.h: norm_value).
struct NormedProduct {
  ProductShape shape;
  const std::int8_t* shifts;  // filled up to 16
  const std::int32_t* input_exponent;
  const std::int32_t* weight_exponent;
  Rows result;
  WindowCopies copies;
};

// Adds every sum to sums[row·row_step + column·column_step]; every `parts_of_plane` parts of the
// depth have a plane of sums of their own.
struct SummedProduct {
  ProductShape shape;
  void* sums;
  std::int64_t row_step;
  std::int64_t column_step;
  std::int64_t plane_step = 0;
  Divisor parts_of_plane = {};
  // Rows are (tap, channel of a span): only sums of the column's own group are added, where those
  // of (tap, channel of the group) would be.
  std::uint32_t keeps_groups = 0;
  GradientCopies copies;
};

}  // namespace nibble::cuda
