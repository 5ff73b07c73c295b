// SPDX-License-Identifier: Apache-2.0
// Float matrix products in tiles that depend on the sizes alone.
#include "float_training/product.h"

#include <algorithm>

#include "float_training/onednn.h"
#include "float_training/slices.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"

namespace nibble::inline float_training {
namespace {

constexpr std::int64_t kTasks = 16;                         // as many as a batch has slices
constexpr std::int64_t kLeastWork = std::int64_t{1} << 19;  // products a task: 10 microseconds
constexpr std::int64_t kLeastRows = 8;
constexpr std::int64_t kLeastColumns = 256;

struct Tiling {
  std::int64_t rows;
  std::int64_t columns;
};

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Rows first: few rows of full width are as fast as a whole product, narrow columns are not.
Tiling tile(std::int64_t m, std::int64_t n, std::int64_t k) {
  Tiling tiling{m, n};
  const auto tasks = [&] { return divide_up(m, tiling.rows) * divide_up(n, tiling.columns); };
  const auto can_halve = [&] {
    return tasks() < kTasks && tiling.rows * tiling.columns * k >= 2 * kLeastWork;
  };
  const auto halve = [](std::int64_t side, std::int64_t least) {
    return divide_up(divide_up(side, 2), least) * least;
  };
  while (can_halve() && tiling.rows > kLeastRows) tiling.rows = halve(tiling.rows, kLeastRows);
  while (can_halve() && tiling.columns > kLeastColumns)
    tiling.columns = halve(tiling.columns, kLeastColumns);
  return tiling;
}

const float* at(const Matrix& matrix, std::int64_t row, std::int64_t column) {
  return matrix.is_transposed ? matrix.data + column * matrix.stride + row
                              : matrix.data + row * matrix.stride + column;
}

void call(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a, const float* a_data,
          const Matrix& b, const float* b_data, float* c, std::int64_t c_stride, bool accumulates) {
  const dnnl_status_t status =
      dnnl_sgemm(a.is_transposed ? 'T' : 'N', b.is_transposed ? 'T' : 'N', m, n, k, 1.0F, a_data,
                 a.stride, b_data, b.stride, accumulates ? 1.0F : 0.0F, c, c_stride);
  if (status != dnnl_success)
    throw Error("product", "oneDNN refused a matrix product", ErrorKind::internal);
}

}  // namespace

void product(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a, const Matrix& b,
             float* c, bool accumulates, bool is_fast) {
  require_room();
  if (is_fast) {
    const ThreadLimit all(thread_count());
    return call(m, n, k, a, a.data, b, b.data, c, n, accumulates);
  }
  const Tiling tiling = tile(m, n, k);
  const std::int64_t across = divide_up(n, tiling.columns);
  for_each_task(divide_up(m, tiling.rows) * across, [&](std::int64_t task) {
    const std::int64_t row = task / across * tiling.rows;
    const std::int64_t column = task % across * tiling.columns;
    call(std::min(tiling.rows, m - row), std::min(tiling.columns, n - column), k, a, at(a, row, 0),
         b, at(b, 0, column), c + row * n + column, n, accumulates);
  });
}

}  // namespace nibble::inline float_training
