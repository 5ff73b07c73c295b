// SPDX-License-Identifier: Apache-2.0
// The definition of a matrix product with a simulated accumulator, one output at a time.
#include "kernels/accumulate/reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "nibble/numerics/quire.h"

namespace nibble::accumulation {
namespace {

std::int64_t chunk_count(const Accumulator& accumulator, std::int64_t inner) {
  if (inner == 0) return 0;
  return (inner - 1) / chunk_length(accumulator, inner) + 1;
}

// The top `bits` bits of a 16-bit draw, or of a 32-bit one where 16 are not enough.
std::uint32_t draw_of(const RandomKey& key, std::uint64_t element, int bits) {
  if (bits <= 16) return static_cast<std::uint32_t>(draw16(key, element) >> (16 - bits));
  return draw32(key, element) >> (32 - bits);
}

// The roundings of one output; the t-th of them has the t-th draw of that output.
class Roundings {
 public:
  Roundings(const Accumulator& accumulator, std::uint64_t first_draw)
      : accumulator_(accumulator), next_draw_(first_draw) {}

  double product(double x) { return round(accumulator_.product_format.element, x); }
  double sum(double x) { return round(accumulator_.format.element, x); }

 private:
  double round(const Element& element, double x) {
    const Rounding& rounding = accumulator_.rounding;
    const std::uint64_t index = next_draw_++;
    const std::uint32_t draw =
        rounding.is_stochastic() ? draw_of(accumulator_.random, index, rounding.random_bits) : 0;
    return round_to(element, x, rounding, accumulator_.overflow, draw);
  }

  const Accumulator& accumulator_;
  std::uint64_t next_draw_;
};

class Output {
 public:
  Output(const Operands& operands, const Accumulator& accumulator, std::int64_t row,
         std::int64_t column)
      : operands_(operands),
        accumulator_(accumulator),
        row_(operands.a + row * operands.inner),
        column_(operands.b + column),
        round_(accumulator, static_cast<std::uint64_t>(row * operands.columns + column) *
                                draws_per_output(accumulator, operands.inner)) {}

  double value() {
    const std::int64_t length = chunk_length(accumulator_, operands_.inner);
    double total = 0;
    for (std::int64_t k = 0; k < operands_.inner; k += length) {
      const double sum = chunk(k, std::min(k + length, operands_.inner));
      total = k == 0 ? sum : round_.sum(sum_to_odd(total, sum));
    }
    return total;
  }

 private:
  // Exact: 24 by 24 bits, and 2^-298 is a normal double.
  double product(std::int64_t k) const {
    return static_cast<double>(row_[k]) * static_cast<double>(column_[k * operands_.columns]);
  }

  double chunk(std::int64_t begin, std::int64_t end) {
    switch (accumulator_.method) {
      case SumMethod::separate:
        // A single product is no sum yet.
        if (accumulator_.order == SumOrder::pairwise && end - begin > 1) return tree(begin, end);
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

  double separate(std::int64_t begin, std::int64_t end) {
    double s = 0;
    for (std::int64_t k = begin; k < end; ++k) {
      const double p = round_.product(product(k));
      s = round_.sum(sum_to_odd(s, p));
    }
    return s;
  }

  double tree(std::int64_t begin, std::int64_t end) {
    if (end - begin == 1) return round_.product(product(begin));
    const std::int64_t middle = begin + (end - begin + 1) / 2;
    const double left = tree(begin, middle);
    const double right = tree(middle, end);
    return round_.sum(sum_to_odd(left, right));
  }

  double fused(std::int64_t begin, std::int64_t end) {
    double s = 0;
    for (std::int64_t k = begin; k < end; ++k) s = round_.sum(sum_to_odd(s, product(k)));
    return s;
  }

  double kahan(std::int64_t begin, std::int64_t end) {
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

  double quire(std::int64_t begin, std::int64_t end) {
    Quire exact;
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
  const Accumulator& accumulator_;
  const float* row_;
  const float* column_;
  Roundings round_;
};

std::int64_t roundings_per_product(SumMethod method) {
  switch (method) {
    case SumMethod::separate:
      return 2;
    case SumMethod::fused:
      return 1;
    case SumMethod::kahan:
      return 5;
    case SumMethod::quire:
      return 0;
  }
  return 0;
}

}  // namespace

std::int64_t chunk_length(const Accumulator& accumulator, std::int64_t inner) {
  return accumulator.chunk == 0 ? std::max<std::int64_t>(inner, 1) : accumulator.chunk;
}

std::uint64_t draws_per_output(const Accumulator& accumulator, std::int64_t inner) {
  const std::int64_t most =
      roundings_per_product(accumulator.method) * inner + 2 * chunk_count(accumulator, inner);
  return static_cast<std::uint64_t>((most + 7) / 8 * 8);
}

double sum_to_odd(double x, double y) {
  const double sum = x + y;
  if (!std::isfinite(sum)) return sum;
  // Knuth's TwoSum: x + y = sum + error exactly.
  const double taken = sum - x;
  const double error = (x - (sum - taken)) + (y - taken);
  const bool is_odd = (std::bit_cast<std::uint64_t>(sum) & 1) != 0;
  if (error == 0 || is_odd) return sum;
  const double infinity = std::numeric_limits<double>::infinity();
  return std::nextafter(sum, error > 0 ? infinity : -infinity);
}

float output_of(const Operands& operands, const Accumulator& accumulator, std::int64_t row,
                std::int64_t column) {
  const double value = Output(operands, accumulator, row, column).value();
  // One NaN: sign and payload of IEEE arithmetic differ between machines.
  if (std::isnan(value)) return std::numeric_limits<float>::quiet_NaN();
  return static_cast<float>(value);
}

}  // namespace nibble::accumulation
