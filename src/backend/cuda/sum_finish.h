// SPDX-License-Identifier: Apache-2.0
// What follows a sum of products in a network that no longer learns: bias, addend, the rescale law.
#pragma once

#include <cstdint>

#include "backend/cuda/device_params.h"

namespace nibble::cuda {

// y = clamp(R((sum + bias + R(a·f, t))·m, s), low, high) of every row and column. Columns are
// filled up to a multiple of 16; bias and multipliers have as many entries, zeros behind the last
// channel. Sums and biases are numbers modulo 2^32 whose sum is a number of 32 bits.
struct SumFinish {
  const std::int32_t* bias;
  const std::int32_t* multiplier;         // m
  const std::int32_t* addend_multiplier;  // f
  const std::int8_t* addend;              // null: none; otherwise a - addend_base in bytes
  void* out;                              // y - out_base in bytes, or y itself in 32 bits
  std::uint32_t pitch;                    // columns of a row
  std::int32_t addend_base;
  std::int32_t out_base;
  std::int32_t low;
  std::int32_t high;
  std::int32_t shift;            // s; at least 1 unless is_wide
  std::int32_t addend_shift;     // t
  std::uint32_t is_wide;         // products need 64 bits
  std::uint32_t has_words;       // y has 32 bits
  std::uint32_t out_borders;     // rows behind those of each image
  std::uint32_t addend_borders;  // the same of the addend
  Divisor pixels;                // by the rows of an image
};

// Finishes every sum.
struct FinishedProduct {
  ProductShape shape;
  SumFinish finish;
};

}  // namespace nibble::cuda
