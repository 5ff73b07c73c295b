// SPDX-License-Identifier: Apache-2.0
// Tiles of a processor: operands straight from the matrices, an instance for each job.
#pragma once

#include <cstdint>

#include "kernels/accumulate/choose_kernel.h"
#include "kernels/accumulate/paths.h"
#include "kernels/accumulate/tile.h"

namespace nibble::inline kernels::accumulation {

// Rows beyond the matrix repeat the last one, lanes beyond it hold zeros.
template <class L>
class MatrixPanels {
 public:
  using Real = typename L::Real;

  MatrixPanels(const Operands& operands, std::int64_t row, std::int64_t column)
      : columns_(operands.columns) {
    for (int r = 0; r < L::kRows; ++r) {
      const std::int64_t inside = row + r < operands.rows ? row + r : operands.rows - 1;
      a_[r] = operands.a + inside * operands.inner;
    }
    for (int v = 0; v < L::kColumns; ++v) {
      const std::int64_t first = column + v * L::kLanes;
      counts_[v] = columns_inside<L>(operands, first);
      b_[v] = operands.b + (counts_[v] > 0 ? first : column);
    }
  }

  // Makes products k readable; k never decreases.
  void reach(std::int64_t) {}
  Real a(int r, std::int64_t k) const { return L::real(a_[r][k]); }
  Real b(int v, std::int64_t k) const { return L::load(b_[v] + k * columns_, counts_[v]); }

 private:
  std::int64_t columns_;
  const float* a_[L::kRows];
  const float* b_[L::kColumns];
  int counts_[L::kColumns];
};

template <class L>
struct TileKernels {
  using Lanes = L;
  template <class Round, bool kPlainSums, SumMethod kMethod, SumOrder kOrder>
  static void of(const Job& job, std::int64_t row, std::int64_t column) {
    const MatrixPanels<L> panels(job.operands, row, column);
    Tile<L, Round, kPlainSums, MatrixPanels<L>> tile(job, row, column, panels);
    tile.template run<kMethod, kOrder>();
  }
};

template <class L>
TileKernel choose_kernel(const Job& job) {
  return {L::kRows, L::kColumns * L::kLanes, choose_rounding<TileKernels<L>>(job)};
}

}  // namespace nibble::inline kernels::accumulation
