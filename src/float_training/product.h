// SPDX-License-Identifier: Apache-2.0
// Float matrix products in tiles that depend on the sizes alone, one single-threaded call a tile.
#pragma once

#include <cstdint>

namespace nibble::inline float_training {

struct Matrix {
  const float* data;
  std::int64_t stride;         // from row to row, as stored
  bool is_transposed = false;  // the product sees columns as rows
};

// c[m×n] = a[m×k]·b[k×n], or c += with `accumulates`. `is_fast`: one call with all threads.
void product(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a, const Matrix& b,
             float* c, bool accumulates, bool is_fast);

}  // namespace nibble::inline float_training
