// SPDX-License-Identifier: Apache-2.0
// Rounds a vector of fp32 values to a fixed-point or integer element.
#pragma once

#include "kernels/quantize/rounding_ops.h"

namespace nibble::inline kernels {

template <class V, RoundingKind kKind>
struct GridOp {
  using F = typename V::F;
  using U = typename V::U;
  using M = typename V::M;

  const GridPlan p;
  Decision<V> decision;

  template <class D>
  NIBBLE_INLINE GridOp(const RoundPlan& plan, const D&) : p(plan.grid), decision(plan) {}

  NIBBLE_INLINE F operator()(F x, U draw) const {
    const F exact_steps = V::mul(x, V::set(p.steps_per_one));
    const F steps = clamped(exact_steps);
    if constexpr (kKind == RoundingKind::nearest_even) {
      return finished(x, steps, V::round_even(steps));
    } else if constexpr (kKind == RoundingKind::stochastic) {
      return finished(x, steps, general(x, exact_steps, steps, draw));
    } else {
      return finished(x, steps, clamped(general(x, exact_steps, steps, draw)));
    }
  }

  NIBBLE_INLINE F nearest_value(F x) const {
    const F steps = clamped(V::mul(x, V::set(p.steps_per_one)));
    return finished(x, steps, V::round_even(steps));
  }

 private:
  NIBBLE_INLINE F finished(F x, F steps, F rounded) const {
    // Adding zero leaves one zero: -0 + 0 = +0.
    const F result = V::mul(V::add(rounded, V::set(0.0F)), V::set(p.step));
    if (p.clamps) return result;
    // Unbounded: from 2^23 steps on every fp32 value is on the grid.
    const F magnitude = V::floats(V::and_(V::bits(steps), V::set(0x7FFFFFFFU)));
    return V::select(V::less(magnitude, V::set(0x1p23F)), result, x);
  }

  // In this operand order NaN passes.
  NIBBLE_INLINE F clamped(F steps) const {
    return p.clamps ? V::min(V::set(p.highest), V::max(V::set(p.lowest), steps)) : steps;
  }

  NIBBLE_INLINE F general(F x, F exact_steps, F steps, U draw) const {
    const U pattern = V::bits(steps);
    const U sign = V::and_(pattern, V::set(0x80000000U));
    const F magnitude = V::floats(V::xor_(pattern, sign));
    const F whole = V::truncate(magnitude);
    const F rest = V::sub(magnitude, whole);
    // A value too small for its number of steps to be an fp32 value is still not zero.
    const M vanished =
        V::both(V::equal(exact_steps, V::set(0.0F)), V::not_(V::equal(x, V::set(0.0F))));
    const M inexact = V::either(V::less(V::set(0.0F), rest), vanished);
    const U odd = V::and_(V::to_int(whole), V::set(1U));
    const M negative = V::less_signed(V::bits(x), V::set(0U));
    const M away = decision.template away<kKind>(V::fraction32(rest), inexact, odd, negative, draw);
    const F moved = V::select(away, V::add(whole, V::set(1.0F)), whole);
    return V::floats(V::or_(V::bits(moved), sign));
  }
};

}  // namespace nibble::inline kernels
