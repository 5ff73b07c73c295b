// SPDX-License-Identifier: Apache-2.0
// Numbers to a codebook of at most sixteen entries: one thread's arithmetic.
#pragma once

#include "kernels/quantize/cuda/divisor.cuh"
#include "kernels/quantize/cuda/families.cuh"

namespace nibble::cuda {

// For single vectors: no other thread has to take part.
struct ParameterTables : Tables<true> {
  __device__ __forceinline__ explicit ParameterTables(const RoundJob& job)
      : Tables<true>(job.table.thresholds, 4) {}
};

// As TableOp has it, but for draws that the definition has to decide. Draws as aligned_draws has
// them. Beyond the first and last entry f is below 0 on the side of `toward` and above 1 on that of
// `away`: x needs no bounds. Under ScaleUse::divide the scale is ordinary and the table coarse.
template <RoundingKind kKind, ScaleUse kUse, bool kShort>
struct QuickTable {
  using Family = ParameterTables;
  static constexpr bool kHasTwoLevels = false;
  static constexpr bool kTakesInfinities = kUse == ScaleUse::none;

  // Under ScaleUse::divide.
  struct Scaled {
    float scale;
    ExactDivisor divisor;
    float lowest, highest;  // of x
  };

  const float2* cells;  // sixteen times a threshold, then `toward` and `away`, then 1 / width
  float quarter, half, three_quarters;  // thresholds
  float first, last;                    // entries

  __device__ __forceinline__ QuickTable(const RoundJob& job, int)
      : cells(shared_cells(job.table)),
        quarter(job.table.thresholds[kSmallTable / 4 - 1]),
        half(job.table.thresholds[kSmallTable / 2 - 1]),
        three_quarters(job.table.thresholds[3 * kSmallTable / 4 - 1]),
        first(job.plan.table.first),
        last(job.plan.table.last) {}

  __device__ __forceinline__ Scaled under(float scale, float) const {
    if constexpr (kUse == ScaleUse::none) return {};
    return {scale, ExactDivisor(scale), first * scale, last * scale};
  }

  // Whether all four are decided.
  __device__ __forceinline__ bool round(const Scaled& s, const float (&x)[kVector],
                                        const std::uint32_t (&draws)[kVector],
                                        float (&values)[kVector]) const {
    bool is_decided = true;
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      if constexpr (kUse == ScaleUse::none) {
        const Drawn drawn = draw_in(cell_of(x[e]), x[e], draws[e]);
        values[e] = drawn.value;
        is_decided = is_decided && drawn.is_decided;
        continue;
      }
      // Beyond fl32(bound · scale) the quotient is beyond the bound or equals it. There the bound
      // is the nearest and stays, so that the quotient needs no bounds.
      const float inside = fminf(fmaxf(x[e], s.lowest), s.highest);
      const float y = s.divisor.quotient(inside);
      const float2* const cell = cell_of(y);
      if constexpr (kKind == RoundingKind::nearest_even) {
        values[e] = cell[kSmallTable].x * s.scale;
      } else {
        const Drawn drawn = draw_in(cell, y, draws[e]);
        const float kept = drawn.nearest * s.scale;
        const bool stays = kept == inside;
        values[e] = stays ? kept : drawn.value * s.scale;
        is_decided = is_decided && (stays || drawn.is_decided);
      }
    }
    return is_decided;
  }

 private:
  // No two cells share a bank. Nothing stands beside a threshold: ptxas 13.0 would read it together
  // with that, before the search's last step, so in the wrong cell.
  __device__ __forceinline__ static const float2* shared_cells(const TableJob& table) {
    __shared__ float2 shared[3 * kSmallTable];
    for (unsigned i = threadIdx.x; i < kSmallTable; i += blockDim.x) {
      shared[i].x = table.thresholds[i];
      shared[kSmallTable + i] = make_float2(table.toward[i], table.away[i]);
      shared[2 * kSmallTable + i].x = table.inverse_width[i];
    }
    __syncthreads();
    return shared;
  }

  // As many cells on as thresholds are at most x.
  __device__ __forceinline__ const float2* cell_of(float x) const {
    const bool is_upper = half <= x;
    const float2* cell = is_upper ? cells + kSmallTable / 2 : cells;
    if ((is_upper ? three_quarters : quarter) <= x) cell += kSmallTable / 4;
    if (cell[1].x <= x) cell += 2;
    if (cell[0].x <= x) cell += 1;
    return cell;
  }

  struct Drawn {
    float value;
    float nearest;  // of y next to an entry
    bool is_decided;
  };

  __device__ __forceinline__ static Drawn draw_in(const float2* cell, float y, std::uint32_t draw) {
    const float toward = cell[kSmallTable].x;
    const float away = cell[kSmallTable].y;
    const float inverse_width = cell[2 * kSmallTable].x;
    const float excess = y - toward;
    const float margin = margin_of(excess, inverse_width, draw);
    return {margin >= 0 ? away : toward, excess * inverse_width < 0.5F ? toward : away,
            fabsf(margin) >= 0x1p-20F};
  }

  // f - u, u = (draw + 1)·2^-r, within 2^-21.
  __device__ __forceinline__ static float margin_of(float excess, float inverse_width,
                                                    std::uint32_t draw) {
    if constexpr (kShort) {
      const float two_less_u = Lane::floats(0x3F800000U + (draw << 7));
      return __fmaf_rn(excess, inverse_width, two_less_u) - 2.0F;
    } else {
      const float minus_one_less_u = Lane::floats(0xBF800000U + (draw >> 9));
      return __fmaf_rn(excess, inverse_width, minus_one_less_u) + 1.0F;
    }
  }
};

}  // namespace nibble::cuda
