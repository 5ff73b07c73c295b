// SPDX-License-Identifier: Apache-2.0
// Rounds a vector of fp32 values to a codebook by a branch-free binary search.
#pragma once

#include "kernels/quantize/rounding_ops.h"

namespace nibble::inline kernels {

// Sixteen entries in registers, or any number of them in memory.
template <class V>
struct SmallTable {
  typename V::Table16 entries;
  NIBBLE_INLINE explicit SmallTable(const float* values) : entries(V::table16(values)) {}
  NIBBLE_INLINE typename V::F operator[](typename V::U index) const {
    return V::lookup(entries, index);
  }
};

template <class V>
struct LargeTable {
  const float* entries;
  NIBBLE_INLINE explicit LargeTable(const float* values) : entries(values) {}
  NIBBLE_INLINE typename V::F operator[](typename V::U index) const {
    return V::gather(entries, index);
  }
};

template <class V, RoundingKind kKind, class Table, class D = Definition>
struct TableOp {
  using F = typename V::F;
  using U = typename V::U;
  using M = typename V::M;
  static constexpr bool kStochastic = kKind == RoundingKind::stochastic;

  const RoundPlan& plan;
  D definition;
  std::uint32_t half_size;
  Table thresholds;
  Table toward;  // of a deterministic rounding: the results
  Table away;
  Table inverse_width;
  Table nearest_thresholds;
  Table nearest_values;
  float unit;  // 2^-r

  NIBBLE_INLINE TableOp(const RoundPlan& round_plan, const D& d)
      : TableOp(round_plan, round_plan.table, round_plan.nearest->table, d) {}

  // With tables that are elsewhere than the plan says.
  NIBBLE_INLINE TableOp(const RoundPlan& round_plan, const TablePlan& table,
                        const TablePlan& nearest, const D& d)
      : plan(round_plan),
        definition(d),
        half_size(1U << (table.levels - 1)),
        thresholds(table.thresholds),
        toward(table.toward),
        away(table.away),
        inverse_width(table.inverse_width),
        nearest_thresholds(nearest.thresholds),
        nearest_values(nearest.toward),
        unit(1.0F / static_cast<float>(std::uint64_t{1} << round_plan.random_bits)) {}

  NIBBLE_INLINE F operator()(F x, U draw) const {
    const U index = index_in(thresholds, x);
    const F result = toward[index];
    if constexpr (kStochastic) {
      return or_nan(x, drawn(x, index, result, draw));
    } else {
      return or_nan(x, result);
    }
  }

  NIBBLE_INLINE F nearest_value(F x) const {
    return or_nan(x, nearest_values[index_in(nearest_thresholds, x)]);
  }

 private:
  // How many thresholds are at most x.
  NIBBLE_INLINE U index_in(const Table& starts, F x) const {
    U index = V::set(0U);
    for (std::uint32_t step = half_size; step != 0; step /= 2) {
      const F threshold = starts[V::add(index, V::set(step - 1))];
      index = V::select(V::less_equal(threshold, x), V::add(index, V::set(step)), index);
    }
    return index;
  }

  NIBBLE_INLINE static F or_nan(F x, F result) {
    const M is_nan = V::not_(V::equal(x, x));
    return V::select(is_nan, V::floats(V::or_(V::bits(x), V::set(0x400000U))), result);
  }

  // f = (x - toward) / (away - toward) against u = (draw + 1)·2^-r, both within 2^-21: where they
  // are closer than 2^-20 the definition decides.
  NIBBLE_INLINE F drawn(F x, U index, F base, U draw) const {
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

}  // namespace nibble::inline kernels
