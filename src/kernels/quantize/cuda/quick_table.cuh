// SPDX-License-Identifier: Apache-2.0
// Numbers to a codebook of at most sixteen entries: one thread's arithmetic.
#pragma once

#include "kernels/quantize/cuda/divisor.cuh"
#include "kernels/quantize/cuda/families.cuh"
#include "kernels/quantize/cuda/quick.cuh"
#include "kernels/quantize/cuda/table_draws.h"

namespace nibble::cuda {

// For single vectors: no other thread has to take part.
struct ParameterTables : Tables<true> {
  __device__ __forceinline__ explicit ParameterTables(const RoundJob& job)
      : Tables<true>(job.table.thresholds, 4) {}
};

// As TableOp has it, but for draws that the definition has to decide. Draws as aligned_draws has
// them. Beyond the first and last entry f is below 0 on the side of `toward` and above 1 on that of
// `away`: x needs no bounds. Under ScaleUse::divide the scale is ordinary and the table coarse; a
// quotient that overflows is NaN and decides nothing. kEven: by even cells instead of a search.
template <RoundingKind kKind, ScaleUse kUse, bool kShort, bool kEven>
struct QuickTable {
  using Family = ParameterTables;
  static constexpr bool kHasTwoLevels = false;
  static constexpr bool kPrepares = true;
  static constexpr bool kTakesInfinities = kUse == ScaleUse::none;

  // Under ScaleUse::divide.
  struct Scaled {
    float scale;
    ExactDivisor divisor;
    float lowest, highest;  // of x
  };

  // In shared memory.
  struct Cells {
    // Sixteen times a threshold, then `toward` and `away`, then 1 / width. No two cells share a
    // bank. Nothing stands beside a threshold: ptxas 13.0 would read it together with that, before
    // the search's last step, so in the wrong cell.
    float2 cells[3 * kSmallTable];
    float thresholds[kSlots];      // kEven
    std::uint32_t before[kSlots];  // in bytes of cells
  };

  const Cells& shared;
  const TableJob& table;  // in the parameters
  float first, last;      // entries

  __device__ __forceinline__ QuickTable(const RoundJob& job, int)
      : shared(filled_cells(job.table)),
        table(job.table),
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
      if constexpr (kKind == RoundingKind::nearest_even) {
        // Beyond fl32(bound · scale) the quotient is beyond the bound or equals it, which is the
        // nearest there and stays.
        const float inside = fminf(fmaxf(x[e], s.lowest), s.highest);
        values[e] = cell_of(s.divisor.quotient(inside))[kSmallTable].x;
      } else {
        const float y = kUse == ScaleUse::none ? x[e] : s.divisor.quotient(x[e]);
        const Drawn drawn = draw_in(cell_of(y), y, draws[e]);
        values[e] = drawn.value;
        is_decided = is_decided && drawn.is_decided;
      }
      if constexpr (kUse != ScaleUse::none) values[e] *= s.scale;
    }
    return is_decided;
  }

 private:
  __device__ __forceinline__ static const Cells& filled_cells(const TableJob& table) {
    __shared__ Cells shared;
    for (unsigned i = threadIdx.x; i < kSmallTable; i += blockDim.x) {
      shared.cells[i].x = table.thresholds[i];
      shared.cells[kSmallTable + i] = make_float2(table.toward[i], table.away[i]);
      shared.cells[2 * kSmallTable + i].x = table.inverse_width[i] * kMarginUnits;
    }
    if constexpr (kEven) {
      for (unsigned i = threadIdx.x; i < kSlots; i += blockDim.x) {
        shared.thresholds[i] = table.cells.thresholds[i];
        shared.before[i] = table.cells.before[i] * sizeof(float2);
      }
    }
    __syncthreads();
    return shared;
  }

  // As many cells on as thresholds are at most x.
  __device__ __forceinline__ const float2* cell_of(float x) const {
    if constexpr (kEven) {
      const std::uint32_t slot = slot_bytes(table.cells.factor, table.cells.addend, x);
      std::uint32_t at = in_slot(shared.before, slot);
      if (in_slot(shared.thresholds, slot) <= x) at += sizeof(float2);
      return reinterpret_cast<const float2*>(reinterpret_cast<const char*>(shared.cells) + at);
    } else {
      const bool is_upper = table.thresholds[kSmallTable / 2 - 1] <= x;
      const float2* cell = is_upper ? shared.cells + kSmallTable / 2 : shared.cells;
      const float quarter = table.thresholds[kSmallTable / 4 - 1];
      const float three_quarters = table.thresholds[3 * kSmallTable / 4 - 1];
      if ((is_upper ? three_quarters : quarter) <= x) cell += kSmallTable / 4;
      if (cell[1].x <= x) cell += 2;
      if (cell[0].x <= x) cell += 1;
      return cell;
    }
  }

  struct Drawn {
    float value;
    bool is_decided;
  };

  __device__ __forceinline__ Drawn draw_in(const float2* cell, float y, std::uint32_t draw) const {
    const float2 ends = cell[kSmallTable];
    const float margin = draw_margin<kShort>(y - ends.x, cell[2 * kSmallTable].x, draw);
    return {margin >= 0 ? ends.y : ends.x, fabsf(margin) >= table.undecided};
  }
};

template <RoundingKind kKind, ScaleUse kUse, bool kShort>
using EvenTable = QuickTable<kKind, kUse, kShort, true>;
template <RoundingKind kKind, ScaleUse kUse, bool kShort>
using SearchedTable = QuickTable<kKind, kUse, kShort, false>;

inline void launch_quick_tables(const RoundJob& job, const Place& place) {
  job.table.cells.serves ? launch_quick_elements<EvenTable>(job, place)
                         : launch_quick_elements<SearchedTable>(job, place);
}

}  // namespace nibble::cuda
