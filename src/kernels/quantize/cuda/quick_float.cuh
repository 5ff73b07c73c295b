// SPDX-License-Identifier: Apache-2.0
// Ordinary numbers to a short float that saturates: one thread's arithmetic.
#pragma once

#include "kernels/quantize/cuda/divisor.cuh"
#include "kernels/quantize/cuda/families.cuh"

namespace nibble::cuda {

// To nearest even in a float of 23 - log2(ratio) mantissa bits whose normal numbers start at
// `least`: adding 2^23 quanta of the binade rounds.
__device__ __forceinline__ float nearest_magnitude(float a, float least, float ratio) {
  const float binade = Lane::floats(Lane::bits(fmaxf(a, least)) & 0x7F800000U);
  const float magic = binade * ratio;
  return (a + magic) - magic;
}

// x is no NaN; under ScaleUse::divide its scale is ordinary. Draws as aligned_draws has them.
template <RoundingKind kKind, ScaleUse kUse, bool kShort>
struct QuickFloat {
  using Family = Floats<FloatKind::plain>;
  static constexpr bool kHasTwoLevels = true;
  static constexpr bool kPrepares = false;
  static constexpr bool kTakesInfinities = true;

  struct Scaled {
    float scale;
    float inverse;
    ExactDivisor divisor;  // divide
    float largest;         // divide: of |x|
  };

  float largest, min_normal, ratio, fractions_per_one;
  std::uint32_t keep_mask, half;
  std::uint32_t draw_unit;      // of a short draw, in last bits of fp32
  std::uint32_t fraction_unit;  // 2^32 over the quantum, likewise
  std::uint32_t least_staying;  // fraction of an element that may stay

  __device__ __forceinline__ QuickFloat(const RoundJob& job, int)
      : largest(Lane::floats(job.plan.floating.largest)),
        min_normal(Lane::floats(job.plan.floating.min_normal)),
        ratio(job.quick.ratio),
        fractions_per_one(job.quick.fractions_per_one),
        keep_mask(job.plan.floating.keep_mask),
        half(job.plan.floating.half_less_one + 1),
        draw_unit(1U << (job.plan.floating.dropped_bits - 16)),
        fraction_unit(1U << (32 - job.plan.floating.dropped_bits)),
        least_staying(kShort && job.plan.floating.dropped_bits >= 18 ? 0U - 4 * fraction_unit
                                                                     : 0U) {}

  __device__ __forceinline__ Scaled under(float scale, float inverse) const {
    Scaled s;
    s.scale = scale;
    s.inverse = inverse;
    if constexpr (kUse == ScaleUse::divide) {
      s.divisor = ExactDivisor(scale);
      s.largest = largest * scale;
    }
    return s;
  }

  __device__ __forceinline__ bool round(const Scaled& s, const float (&x)[kVector],
                                        const std::uint32_t (&draws)[kVector],
                                        float (&values)[kVector]) const {
    float inside[kVector], a[kVector], q[kVector];
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      inside[e] = fabsf(x[e]);
      if constexpr (kUse == ScaleUse::divide) {
        // Beyond fl32(largest · scale) the quotient is beyond `largest` or equals it. There
        // `largest` is the nearest and stays, so that the quotient needs no bound.
        inside[e] = fminf(inside[e], s.largest);
        a[e] = s.divisor.quotient(inside[e]);
      } else {
        a[e] = fminf(fabsf(x[e] * s.inverse), largest);
      }
    }
    if constexpr (kKind == RoundingKind::nearest_even) {
#pragma unroll
      for (int e = 0; e < kVector; ++e) q[e] = nearest_magnitude(a[e], min_normal, ratio);
    } else {
      round_stochastically(s, inside, a, draws, q);
    }
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      values[e] = copysignf(q[e] * s.scale, x[e]);
    }
    return true;
  }

 private:
  __device__ __forceinline__ void round_stochastically(const Scaled& s,
                                                       const float (&inside)[kVector],
                                                       const float (&a)[kVector],
                                                       const std::uint32_t (&draws)[kVector],
                                                       float (&q)[kVector]) const {
    float moved[kVector], cut[kVector];
    std::uint32_t fraction = 0;  // the largest of the four
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      // Numbers below min_normal have the quantum of its binade: moved there, all are cut alike.
      moved[e] = a[e] < min_normal ? min_normal : 0.0F;
      cut[e] = __fadd_rz(a[e], moved[e]);
      q[e] = Lane::floats(stochastic(a[e], moved[e], cut[e], draws[e])) - moved[e];
      fraction = Lane::max_unsigned(fraction, Lane::bits(cut[e]) * fraction_unit);
    }
    if constexpr (kUse == ScaleUse::divide) {
      // Elements that stay have quotients within two ulps of q. Above it no short draw moves them.
      if (fraction < least_staying) return;
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        // Ties do not matter.
        const float kept = Lane::floats((Lane::bits(cut[e]) + half) & keep_mask) - moved[e];
        q[e] = where_equal(kept * s.scale, inside[e], kept, q[e]);
      }
    }
  }

  // draw < floor(f·2^r) is a carry into the last bit kept.
  __device__ __forceinline__ std::uint32_t stochastic(float a, float moved, float cut,
                                                      std::uint32_t draw) const {
    const std::uint32_t bits = Lane::bits(cut);
    if constexpr (kShort) {
      return (bits + draw * draw_unit) & keep_mask;
    } else {
      // What does not fit into `cut` is less than one of its last bits: the fraction's lower end.
      const float rest = a - (cut - moved);
      const std::uint32_t lower =
          Lane::bits(__fmaf_rz(rest, fractions_per_one, 0x1p23F)) - Lane::bits(0x1p23F);
      const std::uint32_t fraction = bits * fraction_unit + lower;
      return (bits & keep_mask) + (draw < fraction ? ~keep_mask + 1 : 0);
    }
  }
};

}  // namespace nibble::cuda
