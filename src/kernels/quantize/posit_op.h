// SPDX-License-Identifier: Apache-2.0
// Rounds a vector of fp32 values to a posit.
#pragma once

#include "kernels/quantize/rounding_ops.h"

namespace nibble::inline kernels {

// The fp32 pattern less its bias, E ‖ fraction, is the posit's regime ‖ exponent ‖ fraction with
// the regime as a number k instead of a run. Cutting a posit to n bits cuts the low bits of that
// pattern, as many as the length of the regime asks for, and a carry runs through it as through the
// posit.
template <class V, RoundingKind kKind, class D = Definition>
struct PositOp {
  using F = typename V::F;
  using U = typename V::U;
  using M = typename V::M;

  const RoundPlan& plan;
  const PositPlan p;
  Decision<V> decision;
  D definition;

  NIBBLE_INLINE PositOp(const RoundPlan& round_plan, const D& d)
      : plan(round_plan), p(round_plan.posit), decision(round_plan), definition(d) {}

  NIBBLE_INLINE F operator()(F x, U draw) const { return rounded<kKind>(x, draw); }

  NIBBLE_INLINE F nearest_value(F x) const {
    return rounded<RoundingKind::nearest_even>(x, V::set(0U));
  }

 private:
  template <RoundingKind kHow>
  NIBBLE_INLINE F rounded(F x, U draw) const {
    const U zero = V::set(0U);
    const U one = V::set(1U);
    const U bias = V::set(0x3F800000U);
    const U binade_shift = V::set(p.binade_shift);
    const U pattern = V::bits(x);
    const U a = V::and_(pattern, V::set(0x7FFFFFFFU));
    const U sign = V::xor_(pattern, a);
    // Never to zero, never beyond the largest.
    const U inside = V::min_unsigned(V::max_unsigned(a, V::set(p.smallest)), V::set(p.largest));
    const U t = V::sub(inside, bias);
    const U regime = V::sar(t, binade_shift);
    // k >= 0: k + 2 bits; k < 0: 1 - k bits
    const U regime_bits = V::add(V::xor_(regime, V::sar(t, V::set(31U))), V::set(2U));
    const U wanted = V::max_signed(V::add(V::set(p.base_cut), regime_bits), zero);
    const U cut = V::min_signed(wanted, binade_shift);
    const U rest = V::and_(t, V::sub(V::shl(one, cut), one));
    const U fraction = V::shl(rest, V::sub(V::set(32U), cut));
    // Where only the regime is left its last bit is the code's: 1 below one, 0 above.
    const M only_regime = V::equal(cut, binade_shift);
    const U odd = V::select(only_regime, V::shr(t, V::set(31U)), V::and_(V::shr(t, cut), one));
    const M negative = V::less_signed(pattern, zero);
    const M away =
        decision.template away<kHow>(fraction, V::not_(V::equal(rest, zero)), odd, negative, draw);
    const U down = V::sub(t, rest);
    const U moved = V::select(away, V::add(down, V::shl(one, cut)), down);
    F result = V::floats(V::or_(V::add(moved, bias), sign));
    if constexpr (kHow == RoundingKind::stochastic) {
      // Where exponent bits are cut, the fraction is not linear in the value.
      const M wide = V::both(V::less_signed(V::set(23U), cut), V::not_(V::equal(rest, zero)));
      result = patched<V>(plan, definition, x, draw, result, wide);
    }
    result = V::select(V::equal(a, zero), V::floats(zero), result);
    const U nan = V::select(V::equal(a, V::set(0x7F800000U)), V::set(0x7FC00000U),
                            V::or_(pattern, V::set(0x400000U)));
    return V::select(V::less_unsigned(a, V::set(0x7F800000U)), result, V::floats(nan));
  }
};

}  // namespace nibble::inline kernels
