// SPDX-License-Identifier: Apache-2.0
// The vector algorithm: a tile of outputs, one output a lane, several accumulators in flight.
//
// Sums are serial, so only outputs can go side by side: L::kRows rows of a by L::kColumns vectors
// of b's columns. Outputs beyond the matrix are computed, from whatever `Panels` gives, and not
// stored.
#pragma once

#include <cstdint>

#include "kernels/accumulate/balanced_tree.h"
#include "kernels/accumulate/job.h"
#include "kernels/accumulate/lane_rounding.h"
#include "kernels/simd/inline.h"
#include "nibble/core/host_device.h"

namespace nibble::inline kernels::accumulation {

// How many of the L::kLanes columns from `first` on lie in the matrix.
template <class L>
NIBBLE_INLINE int columns_inside(const Operands& operands, std::int64_t first) {
  const std::int64_t left = operands.columns - first;
  return static_cast<int>(left < 0 ? 0 : left < L::kLanes ? left : L::kLanes);
}

template <class L, class Round, bool kPlainSums, class Panels>
class Tile {
 public:
  using Real = typename L::Real;
  using Draws = typename Round::Draws;
  static constexpr int kOutputs = L::kRows * L::kColumns;

  struct Sums {
    Real of[kOutputs];
  };

  NIBBLE_INLINE Tile(const Job& job, std::int64_t row, std::int64_t column, const Panels& panels)
      : job_(job),
        row_(row),
        column_(column),
        panels_(panels),
        product_(job.product, job.random_bits),
        sum_(job.sum, job.random_bits) {
    NIBBLE_UNROLL
    for (int o = 0; o < kOutputs; ++o) {
      draws_[o] = Draws(job, row + o / L::kColumns, column + o % L::kColumns * L::kLanes);
    }
  }

  template <SumMethod kMethod, SumOrder kOrder>
  NIBBLE_HOST_DEVICE void run() {
    const std::int64_t inner = job_.operands.inner;
    Sums total = zeros();
    for (std::int64_t begin = 0; begin < inner; begin += job_.chunk) {
      const std::int64_t end = inner - begin < job_.chunk ? inner : begin + job_.chunk;
      Sums chunk;
      if (kOrder == SumOrder::pairwise && end - begin > 1)
        tree(begin, end, chunk);
      else
        chunk = sequence<kMethod>(begin, end);
      if (begin == 0)
        total = chunk;
      else
        add(total, chunk);
    }
    store(total);
  }

 private:
  NIBBLE_INLINE static Sums zeros() {
    Sums sums;
    for (Real& sum : sums.of) sum = L::real(0.0);
    return sums;
  }

  NIBBLE_INLINE static Real plus(Real x, Real y) {
    if constexpr (kPlainSums)
      return L::add(x, y);
    else
      return L::add_odd(x, y);
  }
  NIBBLE_INLINE static Real minus(Real x, Real y) { return plus(x, L::negative(y)); }

  template <SumMethod kMethod>
  NIBBLE_HOST_DEVICE Sums sequence(std::int64_t begin, std::int64_t end) {
    const Round product = product_;
    const Round sum = sum_;
    Sums sums = zeros();
    Sums excesses = zeros();
    for (std::int64_t k = begin; k < end; ++k) {
      Real b[L::kColumns];
      load_b(k, b);
      NIBBLE_UNROLL
      for (int o = 0; o < kOutputs; ++o) {
        const Real exact = L::mul(panels_.a(o / L::kColumns, k), b[o % L::kColumns]);
        Draws& draws = draws_[o];
        Real& s = sums.of[o];
        if constexpr (kMethod == SumMethod::fused) {
          s = sum(L::add_odd(s, exact), draws);
        } else if constexpr (kMethod == SumMethod::separate) {
          const Real p = product(exact, draws);
          s = sum(plus(s, p), draws);
        } else {
          const Real p = product(exact, draws);
          const Real y = sum(minus(p, excesses.of[o]), draws);
          const Real t = sum(plus(s, y), draws);
          const Real taken = sum(minus(t, s), draws);
          excesses.of[o] = sum(minus(taken, y), draws);
          s = t;
        }
      }
    }
    return sums;
  }

  NIBBLE_HOST_DEVICE void tree(std::int64_t begin, std::int64_t end, Sums& result) {
    balanced_tree(
        begin, end, result, [this](std::int64_t k, Sums& sums) { products(k, sums); },
        [this](Sums& left, const Sums& right) { add(left, right); });
  }

  NIBBLE_INLINE void products(std::int64_t k, Sums& result) {
    Real b[L::kColumns];
    load_b(k, b);
    NIBBLE_UNROLL
    for (int o = 0; o < kOutputs; ++o) {
      const Real exact = L::mul(panels_.a(o / L::kColumns, k), b[o % L::kColumns]);
      result.of[o] = product_(exact, draws_[o]);
    }
  }

  NIBBLE_INLINE void add(Sums& left, const Sums& right) {
    NIBBLE_UNROLL
    for (int o = 0; o < kOutputs; ++o) {
      left.of[o] = sum_(plus(left.of[o], right.of[o]), draws_[o]);
    }
  }

  NIBBLE_INLINE void load_b(std::int64_t k, Real* b) {
    panels_.reach(k);
    for (int v = 0; v < L::kColumns; ++v) b[v] = panels_.b(v, k);
  }

  NIBBLE_INLINE void store(const Sums& sums) const {
    NIBBLE_UNROLL
    for (int o = 0; o < kOutputs; ++o) {
      const std::int64_t row = row_ + o / L::kColumns;
      const std::int64_t column = column_ + o % L::kColumns * L::kLanes;
      const int count = columns_inside<L>(job_.operands, column);
      if (row >= job_.operands.rows || count == 0) continue;
      L::store(job_.c + row * job_.operands.columns + column, sums.of[o], count);
    }
  }

  const Job& job_;
  std::int64_t row_;
  std::int64_t column_;
  Panels panels_;
  Round product_;
  Round sum_;
  Draws draws_[kOutputs];
};

}  // namespace nibble::inline kernels::accumulation
