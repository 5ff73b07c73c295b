// SPDX-License-Identifier: Apache-2.0
// Rounds a vector of fp32 values to a codebook by a branch-free binary search.
#pragma once

#include "kernels/quantize/rounding_ops.h"

namespace nibble {

// Sixteen entries in registers, or any number of them in memory.
template <class V>
struct SmallTable {
  typename V::Table16 entries;
  explicit SmallTable(const float* values) : entries(V::table16(values)) {}
  typename V::F operator[](typename V::U index) const { return V::lookup(entries, index); }
};

template <class V>
struct LargeTable {
  const float* entries;
  explicit LargeTable(const float* values) : entries(values) {}
  typename V::F operator[](typename V::U index) const { return V::gather(entries, index); }
};

template <class V, RoundingKind kKind, class Table>
struct TableOp {
  using F = typename V::F;
  using U = typename V::U;
  using M = typename V::M;
  static constexpr bool kStochastic = kKind == RoundingKind::stochastic;

  const RoundPlan& plan;
  Definition definition;
  std::uint32_t half_size;
  Table thresholds;
  Table toward;  // of a deterministic rounding: the results
  Table away;
  Table inverse_width;
  Table nearest_thresholds;
  Table nearest_values;
  float unit;  // 2^-r

  TableOp(const RoundPlan& round_plan, Definition d)
      : plan(round_plan),
        definition(d),
        half_size(1U << (round_plan.table.levels - 1)),
        thresholds(round_plan.table.thresholds),
        toward(round_plan.table.toward),
        away(round_plan.table.away),
        inverse_width(round_plan.table.inverse_width),
        nearest_thresholds(round_plan.nearest->table.thresholds),
        nearest_values(round_plan.nearest->table.toward),
        unit(1.0F / static_cast<float>(std::uint64_t{1} << round_plan.random_bits)) {}

  [[gnu::always_inline]] F operator()(F x, U draw) const {
    const U index = index_in(thresholds, x);
    const F result = toward[index];
    if constexpr (kStochastic) {
      return or_nan(x, drawn(x, index, result, draw));
    } else {
      return or_nan(x, result);
    }
  }

  [[gnu::always_inline]] F nearest_value(F x) const {
    return or_nan(x, nearest_values[index_in(nearest_thresholds, x)]);
  }

 private:
  // How many thresholds are at most x.
  [[gnu::always_inline]] U index_in(const Table& starts, F x) const {
    U index = V::set(0U);
    for (std::uint32_t step = half_size; step != 0; step /= 2) {
      const F threshold = starts[V::add(index, V::set(step - 1))];
      index = V::select(V::less_equal(threshold, x), V::add(index, V::set(step)), index);
    }
    return index;
  }

  [[gnu::always_inline]] static F or_nan(F x, F result) {
    const M is_nan = V::not_(V::equal(x, x));
    return V::select(is_nan, V::floats(V::or_(V::bits(x), V::set(0x400000U))), result);
  }

  // f = (x - toward) / (away - toward) against u = (draw + 1)·2^-r, both within 2^-21: where they
  // are closer than 2^-20 the definition decides.
  [[gnu::always_inline]] F drawn(F x, U index, F base, U draw) const {
    const F inside = V::min(V::set(plan.table.last), V::max(V::set(plan.table.first), x));
    const F f = V::mul(V::sub(inside, base), inverse_width[index]);
    const U high = V::shr(draw, V::set(16U));
    const U low = V::and_(draw, V::set(0xFFFFU));
    const F u = V::mul(
        V::add(V::mul(V::from_int(high), V::set(0x1p16F)), V::add(V::from_int(low), V::set(1.0F))),
        V::set(unit));
    const F margin = V::sub(f, u);
    const F result = V::select(V::less_equal(V::set(0.0F), margin), away[index], base);
    const F distance = V::floats(V::and_(V::bits(margin), V::set(0x7FFFFFFFU)));
    return patched<V>(plan, definition, inside, draw, result, V::less(distance, V::set(0x1p-20F)));
  }
};

}  // namespace nibble
