// SPDX-License-Identifier: Apache-2.0
// Ordinary numbers to a grid with bounds: one thread's arithmetic, all in fp32's lanes.
#pragma once

#include "kernels/quantize/cuda/divisor.cuh"
#include "kernels/quantize/cuda/families.cuh"

namespace nibble::cuda {

// x is no NaN; under ScaleUse::divide its scale is ordinary. Draws as aligned_draws has them.
template <RoundingKind kKind, ScaleUse kUse, bool kShort>
struct QuickGrid {
  using Family = Grids;
  static constexpr bool kHasTwoLevels = false;
  static constexpr bool kPrepares = false;
  static constexpr bool kTakesInfinities = true;

  // What a scale makes of the constants.
  struct Scaled {
    float scale;
    float inverse;
    ExactDivisor unit;  // divide: scale · step
    float lowest;       // divide: of x
    float highest;
  };

  float lowest, highest, step, steps_per_one;

  __device__ __forceinline__ QuickGrid(const RoundJob& job, int zero)
      : lowest(job.plan.grid.lowest - static_cast<float>(zero)),
        highest(job.plan.grid.highest - static_cast<float>(zero)),
        step(job.plan.grid.step),
        steps_per_one(job.plan.grid.steps_per_one) {}

  __device__ __forceinline__ Scaled under(float scale, float inverse) const {
    Scaled s;
    s.scale = scale;
    s.inverse = inverse;
    if constexpr (kUse == ScaleUse::divide) {
      s.unit = ExactDivisor(scale * step);
      s.lowest = lowest * s.unit.divisor;
      s.highest = highest * s.unit.divisor;
    }
    return s;
  }

  __device__ __forceinline__ bool round(const Scaled& s, const float (&x)[kVector],
                                        const std::uint32_t (&draws)[kVector],
                                        float (&values)[kVector]) const {
#pragma unroll
    for (int e = 0; e < kVector; ++e) values[e] = value(s, x[e], draws[e]);
    return true;
  }

 private:
  __device__ __forceinline__ float value(const Scaled& s, float x, std::uint32_t draw) const {
    if constexpr (kUse == ScaleUse::divide) {
      // Beyond fl32(bound · unit) the quotient is beyond the bound or equals it. There the bound
      // is the nearest and `stays`, so that the quotient needs no bounds.
      const float inside = fminf(fmaxf(x, s.lowest), s.highest);
      const float steps = s.unit.quotient(inside);
      if constexpr (kKind == RoundingKind::nearest_even) {
        return nearest(steps) * s.unit.divisor;
      } else {
        const float magnitude = fabsf(steps);
        const float kept = nearest(magnitude);
        const float n =
            where_equal(kept * s.unit.divisor, fabsf(inside), kept, stochastic(magnitude, draw));
        return with_sign(n, s.unit.divisor, inside);
      }
    } else {
      const float steps = fminf(fmaxf(x * s.inverse * steps_per_one, lowest), highest);
      const float element = kKind == RoundingKind::nearest_even
                                ? nearest(steps) * step
                                : with_sign(stochastic(fabsf(steps), draw), step, steps);
      return element * s.scale;
    }
  }

  // To an integer below 2^22; zero is +0.
  __device__ __forceinline__ static float nearest(float steps) {
    constexpr float kMagic = 0x1.8p23F;
    return (steps + kMagic) - kMagic;
  }

  // n·unit with the sign of x, and +0 for n = 0.
  __device__ __forceinline__ static float with_sign(float n, float unit, float x) {
    return __fmaf_rn(copysignf(n, x), unit, 0.0F);
  }

  __device__ __forceinline__ static float stochastic(float steps, std::uint32_t draw) {
    const float whole = __fadd_rz(steps, 0x1p23F) - 0x1p23F;
    const float rest = steps - whole;
    if constexpr (kShort) {
      // The last bit of 2^7 is 2^-16: draw < floor(f·2^16) is a carry out of the last 16 bits.
      const std::uint32_t fraction = Lane::bits(__fadd_rz(rest, 0x1p7F));
      const std::uint32_t moved = (fraction + draw) & 0xFFFF0000U;
      return whole + (Lane::floats(moved) - 0x1p7F);
    } else {
      return draw < Lane::fraction32(rest) ? whole + 1.0F : whole;
    }
  }
};

}  // namespace nibble::cuda
