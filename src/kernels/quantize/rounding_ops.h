// SPDX-License-Identifier: Apache-2.0
// The vector form of the rounding decision, and the escape to the definition for rare lanes.
#pragma once

#include <bit>

#include "kernels/quantize/plan.h"
#include "kernels/simd/inline.h"
#include "nibble/core/host_device.h"

namespace nibble::inline kernels {

// numerics/element.h's round_to, reached through a pointer so that no code of it is compiled here.
using Definition = float (*)(const RoundPlan& plan, float y, std::uint32_t draw);

// Constants of the decision, the same for every family.
template <class V>
struct Decision {
  using U = typename V::U;
  using M = typename V::M;

  RoundingMode mode;
  U unused_bits;  // 32 - r: what a draw of r bits does not see

  NIBBLE_INLINE explicit Decision(const RoundPlan& plan)
      : mode(plan.mode), unused_bits(V::set(static_cast<std::uint32_t>(32 - plan.random_bits))) {}

  // fraction = floor(f·2^32) of the discarded part f, `inexact` where f is not 0.
  template <RoundingKind kKind>
  NIBBLE_INLINE M away(U fraction, M inexact, U odd, M negative, U draw) const {
    const U half = V::set(0x80000000U);
    if constexpr (kKind == RoundingKind::stochastic) {
      return V::less_unsigned(draw, V::shr(fraction, unused_bits));
    } else if constexpr (kKind == RoundingKind::nearest_even) {
      // f > 1/2, or f = 1/2 and odd
      return V::less_unsigned(V::sub(half, odd), fraction);
    } else {
      switch (mode) {
        case RoundingMode::nearest_away:
          return V::not_(V::less_unsigned(fraction, half));
        case RoundingMode::up:
          return V::both(inexact, V::not_(negative));
        case RoundingMode::down:
          return V::both(inexact, negative);
        case RoundingMode::to_odd:
          return V::both(inexact, V::equal(odd, V::set(0U)));
        default:
          return V::none();  // toward zero
      }
    }
  }
};

// Replaces the marked lanes of `result` by the definition's answer.
template <class V, class D>
NIBBLE_HOST_DEVICE typename V::F patched(const RoundPlan& plan, const D& definition,
                                         typename V::F y, typename V::U draw, typename V::F result,
                                         typename V::M lanes) {
  if constexpr (V::kLanes == 1) return lanes ? definition(plan, y, draw) : result;
  std::uint32_t marked = V::mask_bits(lanes);
  if (marked == 0) [[likely]]
    return result;
  float ys[V::kLanes];
  float results[V::kLanes];
  std::uint32_t draws[V::kLanes];
  V::store(ys, y);
  V::store(results, result);
  V::store(draws, draw);
  for (; marked != 0; marked &= marked - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(marked));
    results[lane] = definition(plan, ys[lane], draws[lane]);
  }
  return V::load(results);
}

}  // namespace nibble::inline kernels
