// SPDX-License-Identifier: Apache-2.0
// The definition of one output of a matrix product with a simulated accumulator.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/philox_draws.h"
#include "kernels/accumulate/balanced_tree.h"
#include "kernels/accumulate/double_sums.h"
#include "kernels/accumulate/reference.h"
#include "nibble/core/host_device.h"
#include "numerics/exact_sum.h"

namespace nibble::inline kernels::accumulation {

struct SumRules {
  SumMethod method = SumMethod::separate;
  SumOrder order = SumOrder::sequential;
  std::int64_t chunk = 1;
};

// The top `bits` bits of a 16-bit draw, or of a 32-bit one where 16 are not enough.
NIBBLE_HOST_DEVICE inline std::uint32_t draw_of(const RandomKey& key, std::uint64_t element,
                                                int bits) {
  if (bits <= 16) return static_cast<std::uint32_t>(philox::draw16(key, element) >> (16 - bits));
  return philox::draw32(key, element) >> (32 - bits);
}

// `Round` has product(x) and sum(x): the t-th call rounds with the t-th draw of the output.
template <class Round>
class Output {
 public:
  NIBBLE_HOST_DEVICE Output(const Operands& operands, const SumRules& rules, std::int64_t row,
                            std::int64_t column, const Round& round)
      : operands_(operands),
        rules_(rules),
        row_(operands.a + row * operands.inner),
        column_(operands.b + column),
        round_(round) {}

  NIBBLE_HOST_DEVICE double value() {
    double total = 0;
    for (std::int64_t k = 0; k < operands_.inner; k += rules_.chunk) {
      const std::int64_t left = operands_.inner - k;
      const double sum = chunk(k, k + (left < rules_.chunk ? left : rules_.chunk));
      total = k == 0 ? sum : round_.sum(sum_to_odd(total, sum));
    }
    return total;
  }

 private:
  // Exact: 24 by 24 bits, and 2^-298 is a normal double.
  NIBBLE_HOST_DEVICE double product(std::int64_t k) const {
    return static_cast<double>(row_[k]) * static_cast<double>(column_[k * operands_.columns]);
  }

  NIBBLE_HOST_DEVICE double chunk(std::int64_t begin, std::int64_t end) {
    switch (rules_.method) {
      case SumMethod::separate:
        // A single product is no sum yet.
        if (rules_.order == SumOrder::pairwise && end - begin > 1) return tree(begin, end);
        return separate(begin, end);
      case SumMethod::fused:
        return fused(begin, end);
      case SumMethod::kahan:
        return kahan(begin, end);
      case SumMethod::quire:
        return quire(begin, end);
    }
    return 0;
  }

  NIBBLE_HOST_DEVICE double separate(std::int64_t begin, std::int64_t end) {
    double s = 0;
    for (std::int64_t k = begin; k < end; ++k) {
      const double p = round_.product(product(k));
      s = round_.sum(sum_to_odd(s, p));
    }
    return s;
  }

  NIBBLE_HOST_DEVICE double tree(std::int64_t begin, std::int64_t end) {
    double result = 0;
    balanced_tree(
        begin, end, result,
        [this](std::int64_t k, double& sum) { sum = round_.product(product(k)); },
        [this](double& left, double right) { left = round_.sum(sum_to_odd(left, right)); });
    return result;
  }

  NIBBLE_HOST_DEVICE double fused(std::int64_t begin, std::int64_t end) {
    double s = 0;
    for (std::int64_t k = begin; k < end; ++k) s = round_.sum(sum_to_odd(s, product(k)));
    return s;
  }

  NIBBLE_HOST_DEVICE double kahan(std::int64_t begin, std::int64_t end) {
    double s = 0;
    double excess = 0;  // how much more than it should the sum has taken
    for (std::int64_t k = begin; k < end; ++k) {
      const double p = round_.product(product(k));
      const double y = round_.sum(sum_to_odd(p, -excess));
      const double t = round_.sum(sum_to_odd(s, y));
      const double taken = round_.sum(sum_to_odd(t, -s));
      excess = round_.sum(sum_to_odd(taken, -y));
      s = t;
    }
    return s;
  }

  NIBBLE_HOST_DEVICE double quire(std::int64_t begin, std::int64_t end) {
    ExactSum exact;
    double specials = 0;  // the sum of products that are infinite or NaN
    for (std::int64_t k = begin; k < end; ++k) {
      const double p = product(k);
      if (std::isfinite(p))
        exact.add_product(row_[k], column_[k * operands_.columns]);
      else
        specials += p;
    }
    return round_.sum(specials == 0 ? exact.to_double_odd() : specials);
  }

  const Operands& operands_;
  const SumRules& rules_;
  const float* row_;
  const float* column_;
  Round round_;
};

}  // namespace nibble::inline kernels::accumulation
