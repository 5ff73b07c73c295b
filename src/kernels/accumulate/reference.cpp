// SPDX-License-Identifier: Apache-2.0
// The definition of a matrix product with a simulated accumulator, one output at a time.
#include "kernels/accumulate/reference.h"

#include <algorithm>

#include "kernels/accumulate/definition.h"

namespace nibble::inline kernels::accumulation {
namespace {

std::int64_t chunk_count(const Accumulator& accumulator, std::int64_t inner) {
  if (inner == 0) return 0;
  return (inner - 1) / chunk_length(accumulator, inner) + 1;
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

float output_of(const Operands& operands, const Accumulator& accumulator, std::int64_t row,
                std::int64_t column) {
  const SumRules rules = {.method = accumulator.method,
                          .order = accumulator.order,
                          .chunk = chunk_length(accumulator, operands.inner)};
  const auto index = static_cast<std::uint64_t>(row * operands.columns + column);
  const Roundings roundings(accumulator, index * draws_per_output(accumulator, operands.inner));
  return stored(Output(operands, rules, row, column, roundings).value());
}

}  // namespace nibble::inline kernels::accumulation
