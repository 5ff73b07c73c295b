// SPDX-License-Identifier: Apache-2.0
// What follows a sum of products in a network that no longer learns: bias, addend, the rescale law.
#pragma once

#include <cstdint>

#include "backend/cuda/device_params.h"

namespace nibble::cuda {

// Laws whose results, less the base that they are stored with, are bytes and need few instructions:
// R(x, s) = ⌊(x + 2^(s-1) - [x < 0]) / 2^s⌋, and a base may be taken off before the shift. Addends
// have no base, and 0 <= f. Constants of four columns are packed as three groups of four.
//
// half_relu  low = 0, high <= 255, and sums·m, brought to s = 16, fit 32 bits: y is what clamping
//            leaves of the upper half of sum·scale + offset, with scale = m·2^(16-s), offset =
//            bias·scale + 2^15. What is below 0 may be rounded in any way. Addends are 0 or more
//            unless t = 0. Packed: scale; offset; f < 2^16, in the upper half of odd columns
// half       any low and high, any addends; offset = bias·scale
// wide       0 <= m, 32 < s < 55, sums fit 32 bits. Packed: m; bias; f
enum class FinishForm : std::uint32_t { none, half_relu, half, wide };

// What sums of bytes lack where windows reach out of their picture: there the copy engine fills in
// the byte 0, which is the number 0 of values without a base alone.
struct OutsideSums {
  const std::int32_t* sums;  // null: nothing; rows of the result's columns, the first one zeros
  const std::int32_t* rows;  // by pixel of a result: where its row begins
};

// y = clamp(R((sum + bias + R(a·f, t))·m, s), low, high) of every row and column. Columns are
// filled up to a multiple of 16; bias and multipliers have as many entries, zeros behind the last
// channel. Sums and biases are numbers modulo 2^32 whose sum is a number of 32 bits.
struct SumFinish {
  const std::int32_t* bias;
  const std::int32_t* multiplier;         // m
  const std::int32_t* addend_multiplier;  // f
  const std::int32_t* packed;             // of a form: constants of four columns after another
  const std::int8_t* addend;              // null: none; otherwise a - addend_base in bytes
  void* out;                              // y - out_base in bytes, or y itself in 32 bits
  std::uint32_t pitch;                    // columns of a row
  std::int32_t addend_base;
  std::int32_t out_base;
  std::int32_t low;
  std::int32_t high;
  std::int32_t shift;         // s; at least 1 unless is_wide
  std::int32_t addend_shift;  // t
  std::uint32_t is_wide;      // products need 64 bits
  FinishForm form;
  std::uint32_t has_words;       // y has 32 bits
  std::uint32_t out_borders;     // rows behind those of each image
  std::uint32_t addend_borders;  // the same of the addend
  Divisor pixels;                // by the rows of an image
  std::uint32_t unused;
  OutsideSums outside;  // of a form
};

// Where blocks meet that have parts of the depth of one tile: sums of all tiles, and how many
// blocks have added theirs. Zeros between products.
struct SharedSums {
  std::int32_t* sums;
  std::uint32_t* arrived;  // one a tile
};

// Addends as the copy engine brings them, some columns at a time, pixel by pixel of the result.
struct AddedCopies {
  TensorMap map;
  Divisor pixels;
  Divisor width;
  std::uint32_t is_flat;  // pixels lie one behind the other
  std::uint32_t unused;
};
constexpr std::uint32_t added_columns(std::uint32_t tile_columns) {
  return tile_columns < 128 ? 64 : 128;
}

// Finishes every sum. Operands that the copy engine brings come in tiles that are chosen by who
// asks.
struct FinishedProduct {
  ProductShape shape;
  SumFinish finish;
  SharedSums shared;
  WindowCopies copies;
  AddedCopies added;
  std::uint32_t tile_rows;
  std::uint32_t tile_columns;
  std::uint32_t planes;      // into which the depth is cut
  std::uint32_t has_halves;  // rows are 0 to 15, columns -8 to 7, for tensor cores of 4 bits
};

}  // namespace nibble::cuda
