// SPDX-License-Identifier: Apache-2.0
// Rounds a vector of fp32 values to a float element.
#pragma once

#include "kernels/quantize/rounding_ops.h"

namespace nibble::inline kernels {

template <class V, RoundingKind kKind>
struct FloatOp {
  using F = typename V::F;
  using U = typename V::U;
  using M = typename V::M;

  const FloatPlan p;
  Decision<V> decision;

  template <class D>
  NIBBLE_INLINE FloatOp(const RoundPlan& plan, const D&) : p(plan.floating), decision(plan) {}

  NIBBLE_INLINE F operator()(F x, U draw) const {
    const U a = V::and_(V::bits(x), V::set(0x7FFFFFFFU));
    if constexpr (kKind == RoundingKind::nearest_even) {
      return finished(x, a, nearest(a));
    } else if (kKind == RoundingKind::stochastic && p.has_short_stochastic) {
      return finished(x, a, stochastic(a, draw));
    } else {
      return finished(x, a, general(a, V::less_signed(V::bits(x), V::set(0U)), draw));
    }
  }

  NIBBLE_INLINE F nearest_value(F x) const {
    const U a = V::and_(V::bits(x), V::set(0x7FFFFFFFU));
    return finished(x, a, nearest(a));
  }

 private:
  // The rounded magnitude r with its ends and its sign.
  NIBBLE_INLINE F finished(F x, U a, U r) const {
    const U pattern = V::bits(x);
    if (p.smallest != 0) r = V::max_unsigned(r, V::set(p.smallest));
    r = ends(a, V::less_signed(pattern, V::set(0U)), r);
    return V::floats(signed_result(a, V::xor_(pattern, a), r));
  }

  // Above min_normal the carry of an integer addition rounds; below it, the rounding of one fp32
  // addition does, because the last bit of small_magic is the quantum.
  NIBBLE_INLINE U nearest(U a) const {
    const U odd = V::xor_(V::and_(V::shr(a, V::set(p.dropped_bits)), V::set(p.parity_mask)),
                          V::set(p.parity_flip));
    const U normal = V::and_(V::add(V::add(a, V::set(p.half_less_one)), odd), V::set(p.keep_mask));
    const F magic = V::set(p.small_magic);
    const U small = V::bits(V::sub(V::add(V::floats(a), magic), magic));
    return V::select(V::less_unsigned(a, V::set(p.min_normal)), small, normal);
  }

  // Above min_normal draw < floor(f·2^r) is a carry into the last bit kept: the bits cut off plus
  // the complement of as many leading bits of the draw. Below, steps and their fraction are exact.
  NIBBLE_INLINE U stochastic(U a, U draw) const {
    const U complement = V::xor_(draw, V::set(p.draw_mask));
    const U aligned = p.draw_shift >= 0
                          ? V::shr(complement, V::set(static_cast<std::uint32_t>(p.draw_shift)))
                          : V::shl(complement, V::set(static_cast<std::uint32_t>(-p.draw_shift)));
    const U normal = V::and_(V::add(a, aligned), V::set(p.keep_mask));
    const M is_small = V::less_unsigned(a, V::set(p.min_normal));
    // Most data has few values this small, and where fp32 itself becomes subnormal nothing changes.
    if (p.min_normal == 0x800000U || V::mask_bits(is_small) == 0) return normal;
    const F steps = V::mul(V::floats(a), V::set(p.small_steps_per_one));
    const F whole = V::truncate(steps);
    const U fraction = V::shr(V::fraction32(V::sub(steps, whole)), decision.unused_bits);
    const M away = V::less_unsigned(draw, fraction);
    const F moved = V::select(away, V::add(whole, V::set(1.0F)), whole);
    return V::select(is_small, V::bits(V::mul(moved, V::set(p.small_quantum))), normal);
  }

  // The significand cut at the quantum of its binade; what is cut off, left-aligned, decides.
  NIBBLE_INLINE U general(U a, M negative, U draw) const {
    const U zero = V::set(0U);
    const U field = V::shr(a, V::set(23U));
    const U exponent = V::max_unsigned(field, V::set(1U));
    const U hidden = V::select(V::equal(field, zero), zero, V::set(0x800000U));
    const U significand = V::or_(V::and_(a, V::set(0x7FFFFFU)), hidden);
    const M is_small = V::less_unsigned(a, V::set(p.min_normal));
    const U small_cut = V::sub(V::set((p.min_normal >> 23) + p.small_dropped_bits), exponent);
    const U cut = V::select(is_small, small_cut, V::set(p.dropped_bits));
    const U n = V::shr(significand, cut);
    const U fraction = V::or_(V::shl(significand, V::sub(V::set(32U), cut)),
                              V::shr(significand, V::sub(cut, V::set(32U))));
    const M inexact = V::not_(V::equal(V::shl(n, cut), significand));
    const U odd = p.has_mantissa ? V::and_(n, V::set(1U))
                                 : V::and_(V::xor_(exponent, V::set(p.parity_flip)), n);
    const M away = decision.template away<kKind>(fraction, inexact, odd, negative, draw);
    const U rounded = V::select(away, V::add(n, V::set(1U)), n);
    // The hidden bit inside `rounded` supplies the one that the exponent lacks.
    const U normal =
        V::add(V::shl(V::sub(exponent, V::set(1U)), V::set(23U)), V::shl(rounded, cut));
    // Where fp32 itself becomes subnormal, that sum is already the small result.
    if (p.min_normal == 0x800000U) return normal;
    const U small = V::bits(V::mul(V::from_int(rounded), V::set(p.small_quantum)));
    return V::select(is_small, small, normal);
  }

  NIBBLE_INLINE U by_sign(M negative, const std::array<std::uint32_t, 2>& of) const {
    return V::select(negative, V::set(of[1]), V::set(of[0]));
  }

  // Overflow, infinities, NaN.
  NIBBLE_INLINE U ends(U a, M negative, U r) const {
    if constexpr (kKind == RoundingKind::deterministic) {
      r = V::select(V::less_unsigned(V::set(p.largest), r), by_sign(negative, p.beyond), r);
      r = V::select(V::equal(a, V::set(0x7F800000U)), by_sign(negative, p.infinite), r);
    } else {
      // What is beyond does not depend on the sign, and infinity rounds beyond too.
      r = V::select(V::less_unsigned(V::set(p.largest), r), V::set(p.beyond[0]), r);
    }
    const U quiet = V::or_(a, V::set(0x400000U));
    return V::select(V::less_unsigned(V::set(0x7F800000U), a), quiet, r);
  }

  NIBBLE_INLINE U signed_result(U a, U sign, U r) const {
    if (p.has_plain_sign) return V::or_(r, sign);
    const M is_nan = V::less_unsigned(V::set(0x7F800000U), a);
    if (p.is_signed) {
      const M keeps = V::either(is_nan, V::not_(V::equal(r, V::set(0U))));
      return V::select(keeps, V::or_(r, sign), r);
    }
    const M is_negative =
        V::both(V::not_(V::equal(sign, V::set(0U))), V::not_(V::equal(a, V::set(0U))));
    const U positive = V::select(is_negative, V::set(p.below_zero), r);
    return V::select(is_nan, V::or_(r, sign), positive);
  }
};

}  // namespace nibble::inline kernels
