// SPDX-License-Identifier: Apache-2.0
// Products of whole int8 matrices on every path against three loops.
#include "kernels/products/matrix_product.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/isa.h"

namespace nibble::inline kernels {
namespace {

std::vector<std::int32_t> by_loops(const std::vector<std::int8_t>& a,
                                   const std::vector<std::int8_t>& b,
                                   const MatrixProductShape& shape) {
  std::vector<std::int32_t> c(static_cast<std::size_t>(shape.rows * shape.columns));
  for (std::int64_t i = 0; i < shape.rows; ++i)
    for (std::int64_t k = 0; k < shape.depth; ++k)
      for (std::int64_t j = 0; j < shape.columns; ++j)
        c[static_cast<std::size_t>(i * shape.columns + j)] +=
            a[static_cast<std::size_t>(i * shape.depth + k)] *
            b[static_cast<std::size_t>(k * shape.columns + j)];
  return c;
}

class MatrixProductTest : public testing::TestWithParam<MatrixProductShape> {};

TEST_P(MatrixProductTest, IsThatOfThreeLoopsOnEveryPath) {
  const MatrixProductShape shape = GetParam();
  for (const int lowest : {-127, -128}) {
    std::mt19937 generator(7);
    std::uniform_int_distribution<int> any(lowest, 127);
    std::vector<std::int8_t> a(static_cast<std::size_t>(shape.rows * shape.depth));
    std::vector<std::int8_t> b(static_cast<std::size_t>(shape.depth * shape.columns));
    for (auto* values : {&a, &b})
      for (std::int8_t& value : *values) value = static_cast<std::int8_t>(any(generator));
    const std::vector<std::int32_t> expected = by_loops(a, b, shape);
    for (const Isa isa : supported_isas()) {
      set_isa(isa);
      std::vector<std::int32_t> c(expected.size(), 99);
      multiply_matrices(a, b, shape, c);
      EXPECT_EQ(c, expected) << name_of(isa) << ' ' << lowest;
    }
    reset_isa();
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, MatrixProductTest,
                         testing::Values(MatrixProductShape{1, 1, 1}, MatrixProductShape{16, 4, 16},
                                         MatrixProductShape{17, 5, 65},
                                         MatrixProductShape{3, 130, 200},
                                         MatrixProductShape{33, 64, 64},
                                         MatrixProductShape{2, 0, 3}, MatrixProductShape{0, 4, 3}));

}  // namespace
}  // namespace nibble::inline kernels
