// SPDX-License-Identifier: Apache-2.0
// What kernels are told: plain numbers and addresses, without gaps, so that two calls can be
// compared byte by byte.
//
// Values lie image after image as (row, column, channel), a byte a number, channels filled up with
// zeros to a multiple of 16. A row is one pixel of one image; a chunk is 16 of its channels.
#pragma once

#include <cstdint>

#include "backend/cuda/device_state.h"
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
//   data + q·q_stride + p·p_stride + table[q·table_q + p·table_p + s·table_s]·segment bytes,
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
  std::uint32_t unused;
};

// C(row, column) = Σ a(row, k)·b(column, k) over all bytes k of all segments.
struct ProductShape {
  GatheredRows a;
  const std::int8_t* b;  // columns one after the other
  std::uint32_t columns;
  std::uint32_t segments;
  Divisor segment_chunks;
  // Filled in by who computes.
  Divisor column_tiles;
  std::uint32_t tiles;   // of rows and columns
  std::uint32_t depths;  // of 128 bytes that one block takes
};

// What is added to sums of products before they are rounded.
struct AddedBias {
  const std::int8_t* mantissas;  // null: none
  const std::int32_t* exponent;
  const std::int32_t* weight_exponent;
};

// Rounds every sum into a row of the result.
struct RoundedProduct {
  ProductShape shape;
  RoundingSite site;
  const std::int32_t* input_exponent;
  AddedBias bias;
  Rows result;
  std::int32_t* rectified_exponent;  // null: no rectifier follows
};

// Holds every sum in 16 bits, by the shift of its column (laws/batch_norm.h: norm_value).
struct NormedProduct {
  ProductShape shape;
  const std::int8_t* shifts;  // filled up to 16
  const std::int32_t* input_exponent;
  const std::int32_t* weight_exponent;
  Rows result;
};

// Adds every sum to sums[row·row_step + column·column_step].
struct SummedProduct {
  ProductShape shape;
  void* sums;
  std::int64_t row_step;
  std::int64_t column_step;
};

}  // namespace nibble::cuda
