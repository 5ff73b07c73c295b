// SPDX-License-Identifier: Apache-2.0
// Finite numbers to a posit by draws: one thread's arithmetic.
#pragma once

#include "kernels/quantize/cuda/families.cuh"

namespace nibble::cuda {

// As PositOp has it. Draws as aligned_draws has them.
template <RoundingKind, ScaleUse, bool kShort>
struct QuickPosit {
  using Family = Posits;
  static constexpr bool kPrepares = false;
  static constexpr bool kTakesInfinities = false;

  struct Scaled {};

  float smallest, largest;
  int binade_shift, shortest_cut;

  __device__ __forceinline__ QuickPosit(const RoundJob& job, int)
      : smallest(Lane::floats(job.plan.posit.smallest)),
        largest(Lane::floats(job.plan.posit.largest)),
        binade_shift(static_cast<int>(job.plan.posit.binade_shift)),
        shortest_cut(static_cast<int>(job.plan.posit.base_cut) + 2) {}

  __device__ __forceinline__ Scaled under(float, float) const { return {}; }

  __device__ __forceinline__ bool round(const Scaled&, const float (&x)[kVector],
                                        const std::uint32_t (&draws)[kVector],
                                        float (&values)[kVector]) const {
#pragma unroll
    for (int e = 0; e < kVector; ++e) values[e] = value(x[e], draws[e]);
    return true;
  }

 private:
  static constexpr std::uint32_t kBias = 0x3F800000U;

  __device__ __forceinline__ float value(float x, std::uint32_t draw) const {
    const float inside = fminf(fmaxf(fabsf(x), smallest), largest);
    const std::uint32_t t = Lane::bits(inside) - kBias;
    const auto order = static_cast<int>(t);
    const int wanted = (order >> binade_shift ^ order >> 31) + shortest_cut;
    const auto cut = static_cast<std::uint32_t>(min(max(wanted, 0), binade_shift));
    const std::uint32_t keep_mask = 0xFFFFFFFFU << cut;
    // draw < floor(f·2^r) is a carry into the last bit kept.
    const std::uint32_t complement = kShort ? draw << 16 : ~draw;
    std::uint32_t moved = (t + Lane::shr(complement, 32 - cut)) & keep_mask;
    if (cut > 23 && (t & ~keep_mask) != 0) moved = across_binades(t, t & keep_mask, cut, draw);
    const float q = copysignf(Lane::floats(moved + kBias), x);
    return x == 0 ? 0.0F : q;
  }

  // Exponent bits are cut: from 2^e to 2^(e + n) f is (x/2^e - 1) / (2^n - 1), and u < floor(f·2^r)
  // where (u + 1)·(2^n - 1) is at most (x/2^e - 1)·2^r.
  __device__ __forceinline__ static std::uint32_t across_binades(std::uint32_t t,
                                                                 std::uint32_t lower,
                                                                 std::uint32_t cut,
                                                                 std::uint32_t draw) {
    const std::uint32_t significand = (t & 0x7FFFFFU) | 0x800000U;
    const std::uint32_t excess = (significand << ((t - lower) >> 23)) - 0x800000U;
    const std::uint32_t width = (1U << (1U << (cut - 23))) - 1;
    const bool moves = kShort ? (0x10000U - draw) * width <= excess >> 7
                              : (std::uint64_t{draw} + 1) * width <= std::uint64_t{excess} << 9;
    return moves ? lower + (1U << cut) : lower;
  }
};

}  // namespace nibble::cuda
