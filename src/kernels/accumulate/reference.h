// SPDX-License-Identifier: Apache-2.0
// The definition of a matrix product with a simulated accumulator, one output at a time.
#pragma once

#include <cstdint>

#include "nibble/kernels/accumulate.h"

namespace nibble::inline kernels::accumulation {

// Row-major operands: a is rows × inner, b inner × columns.
struct Operands {
  const float* a = nullptr;
  const float* b = nullptr;
  std::int64_t rows = 0;
  std::int64_t inner = 0;
  std::int64_t columns = 0;
};

// Products of a chunk: all of them where no length is given.
std::int64_t chunk_length(const Accumulator& accumulator, std::int64_t inner);

// The distance of two outputs in the numbering of draws, a multiple of 8 that no output's roundings
// exceed: 8·ceil((r·inner + 2·chunks) / 8), r roundings a product.
std::uint64_t draws_per_output(const Accumulator& accumulator, std::int64_t inner);

// c[row, column].
float output_of(const Operands& operands, const Accumulator& accumulator, std::int64_t row,
                std::int64_t column);

}  // namespace nibble::inline kernels::accumulation
