// SPDX-License-Identifier: Apache-2.0
// The vector algorithm: a tile of outputs, one output a lane, several accumulators in flight.
//
// Sums are serial, so only outputs can go side by side: L::kRows rows of a by L::kColumns vectors
// of b's columns. Rows beyond the matrix repeat the last one, lanes beyond it hold zeros; neither
// is stored.
#pragma once

#include <cstdint>

#include "kernels/accumulate/job.h"
#include "kernels/accumulate/lane_rounding.h"

namespace nibble::accumulation {

template <class L, class Round, bool kPlainSums>
class Tile {
 public:
  using Real = typename L::Real;
  using Draws = typename Round::Draws;
  static constexpr int kOutputs = L::kRows * L::kColumns;

  struct Sums {
    Real of[kOutputs];
  };

  Tile(const Job& job, std::int64_t row, std::int64_t column)
      : job_(job),
        row_(row),
        column_(column),
        product_(job.product, job.random_bits),
        sum_(job.sum, job.random_bits) {
    const Operands& operands = job.operands;
    for (int r = 0; r < L::kRows; ++r) {
      const std::int64_t inside = row + r < operands.rows ? row + r : operands.rows - 1;
      a_[r] = operands.a + inside * operands.inner;
    }
    for (int v = 0; v < L::kColumns; ++v) {
      const std::int64_t first = column + v * L::kLanes;
      const std::int64_t left = operands.columns - first;
      counts_[v] = static_cast<int>(left < 0 ? 0 : left < L::kLanes ? left : L::kLanes);
      b_[v] = operands.b + (counts_[v] > 0 ? first : column);
    }
    for (int o = 0; o < kOutputs; ++o) {
      draws_[o] = Draws(job, row + o / L::kColumns, column + o % L::kColumns * L::kLanes);
    }
  }

  template <SumMethod kMethod, SumOrder kOrder>
  void run() {
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
  static Sums zeros() {
    Sums sums;
    for (Real& sum : sums.of) sum = L::real(0.0);
    return sums;
  }

  static Real plus(Real x, Real y) {
    if constexpr (kPlainSums)
      return L::add(x, y);
    else
      return L::add_odd(x, y);
  }
  static Real minus(Real x, Real y) { return plus(x, L::negative(y)); }

  template <SumMethod kMethod>
  Sums sequence(std::int64_t begin, std::int64_t end) {
    const Round product = product_;
    const Round sum = sum_;
    Sums sums = zeros();
    Sums excesses = zeros();
    for (std::int64_t k = begin; k < end; ++k) {
      Real b[L::kColumns];
      load_b(k, b);
#pragma GCC unroll 8
      for (int o = 0; o < kOutputs; ++o) {
        const Real exact = L::mul(L::real(a_[o / L::kColumns][k]), b[o % L::kColumns]);
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

  // The balanced tree of products begin to end; the left half is the longer one.
  void tree(std::int64_t begin, std::int64_t end, Sums& result) {
    if (end - begin == 1) return products(begin, result);
    const std::int64_t middle = begin + (end - begin + 1) / 2;
    Sums right;
    tree(begin, middle, result);
    tree(middle, end, right);
    add(result, right);
  }

  void products(std::int64_t k, Sums& result) {
    Real b[L::kColumns];
    load_b(k, b);
#pragma GCC unroll 8
    for (int o = 0; o < kOutputs; ++o) {
      const Real exact = L::mul(L::real(a_[o / L::kColumns][k]), b[o % L::kColumns]);
      result.of[o] = product_(exact, draws_[o]);
    }
  }

  void add(Sums& left, const Sums& right) {
#pragma GCC unroll 8
    for (int o = 0; o < kOutputs; ++o) {
      left.of[o] = sum_(plus(left.of[o], right.of[o]), draws_[o]);
    }
  }

  void load_b(std::int64_t k, Real* b) const {
    for (int v = 0; v < L::kColumns; ++v) {
      b[v] = L::load(b_[v] + k * job_.operands.columns, counts_[v]);
    }
  }

  void store(const Sums& sums) const {
    for (int o = 0; o < kOutputs; ++o) {
      const std::int64_t row = row_ + o / L::kColumns;
      const int v = o % L::kColumns;
      if (row >= job_.operands.rows || counts_[v] == 0) continue;
      L::store(job_.c + row * job_.operands.columns + column_ + v * L::kLanes, sums.of[o],
               counts_[v]);
    }
  }

  const Job& job_;
  std::int64_t row_;
  std::int64_t column_;
  const float* a_[L::kRows];
  const float* b_[L::kColumns];
  int counts_[L::kColumns];
  Round product_;
  Round sum_;
  Draws draws_[kOutputs];
};

template <class L, class Round, bool kPlainSums, SumMethod kMethod, SumOrder kOrder>
void run_tile(const Job& job, std::int64_t row, std::int64_t column) {
  Tile<L, Round, kPlainSums> tile(job, row, column);
  tile.template run<kMethod, kOrder>();
}

template <class L, class Round, bool kPlainSums>
RunTile choose_method(const Job& job) {
  constexpr SumOrder kSequential = SumOrder::sequential;
  switch (job.method) {
    case SumMethod::separate:
      if (job.order == SumOrder::pairwise) {
        return run_tile<L, Round, kPlainSums, SumMethod::separate, SumOrder::pairwise>;
      }
      return run_tile<L, Round, kPlainSums, SumMethod::separate, kSequential>;
    case SumMethod::fused:
      return run_tile<L, Round, kPlainSums, SumMethod::fused, kSequential>;
    case SumMethod::kahan:
      return run_tile<L, Round, kPlainSums, SumMethod::kahan, kSequential>;
    case SumMethod::quire:
      break;
  }
  return nullptr;
}

template <class L, class Round>
RunTile choose_sums(const Job& job) {
  return job.plain_sums ? choose_method<L, Round, true>(job) : choose_method<L, Round, false>(job);
}

template <class L>
TileKernel choose_kernel(const Job& job) {
  RunTile run = nullptr;
  switch (job.rounding) {
    case LaneRounding::nearest_float:
      run = choose_sums<L, NearestFloat<L>>(job);
      break;
    case LaneRounding::nearest:
      run = choose_sums<L, AnyElement<L, LaneRounding::nearest>>(job);
      break;
    case LaneRounding::toward_zero:
      run = choose_sums<L, AnyElement<L, LaneRounding::toward_zero>>(job);
      break;
    case LaneRounding::stochastic:
      run = choose_sums<L, AnyElement<L, LaneRounding::stochastic>>(job);
      break;
  }
  return {L::kRows, L::kColumns * L::kLanes, run};
}

}  // namespace nibble::accumulation
