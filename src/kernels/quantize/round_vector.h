// SPDX-License-Identifier: Apache-2.0
// One vector under its scales.
#pragma once

#include "kernels/quantize/plan.h"
#include "kernels/simd/inline.h"

namespace nibble::inline kernels {

template <class V>
struct RoundedVector {
  typename V::F element;  // q
  typename V::F value;    // q·s
};

// From y = fl32(x/s), s no power of two: to q, to q·s. A value that is already fl32(q·s) stays
// whatever the rounding; q is then the nearest element.
template <class V, RoundingKind kKind, class Op>
NIBBLE_INLINE RoundedVector<V> round_divided(const Op& op, typename V::F x, typename V::F y,
                                             typename V::U draw, typename V::F scale) {
  const typename V::F q = op(y, draw);
  const typename V::F value = V::mul(q, scale);
  if constexpr (kKind == RoundingKind::nearest_even) {
    return {q, value};
  } else {
    const typename V::F nearest = op.nearest_value(y);
    const typename V::F kept = V::mul(nearest, scale);
    const auto stays = V::equal(kept, x);
    return {V::select(stays, nearest, q), V::select(stays, kept, value)};
  }
}

// y = x/s to q to q·s.
template <class V, ScaleUse kUse, RoundingKind kKind, class Op>
NIBBLE_INLINE RoundedVector<V> round_vector(const Op& op, typename V::F x, typename V::U draw,
                                            typename V::F scale, typename V::F inverse) {
  if constexpr (kUse == ScaleUse::none) {
    const typename V::F q = op(x, draw);
    return {q, q};
  } else if constexpr (kUse == ScaleUse::exact) {
    typename V::F y = V::mul(x, inverse);
    if constexpr (kKind == RoundingKind::deterministic) {
      // An underflow to zero must not hide that there was something to round.
      const auto tiny = V::or_(V::and_(V::bits(x), V::set(0x80000000U)), V::set(1U));
      const auto vanished = V::both(V::equal(y, V::set(0.0F)), V::not_(V::equal(x, V::set(0.0F))));
      y = V::select(vanished, V::floats(tiny), y);
    }
    const typename V::F q = op(y, draw);
    return {q, V::mul(q, scale)};
  } else {
    return round_divided<V, kKind>(op, x, V::div(x, scale), draw, scale);
  }
}

}  // namespace nibble::inline kernels
