// SPDX-License-Identifier: Apache-2.0
// The exact product of whole int8 matrices, by the tiles of product_kernels.h.
#pragma once

#include <cstdint>
#include <span>

namespace nibble::inline kernels {

struct MatrixProductShape {
  std::int64_t rows = 0;
  std::int64_t depth = 0;
  std::int64_t columns = 0;
};

// c = a·b, all dense and row by row. Any int8 values, -128 too; what leaves int32 wraps around.
void multiply_matrices(std::span<const std::int8_t> a, std::span<const std::int8_t> b,
                       const MatrixProductShape& shape, std::span<std::int32_t> c);

}  // namespace nibble::inline kernels
