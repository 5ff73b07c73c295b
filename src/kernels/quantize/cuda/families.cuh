// SPDX-License-Identifier: Apache-2.0
// The families of elements as kernels use them: their operation, and the code of an element.
#pragma once

#include <type_traits>

#include "kernels/quantize/cuda/counting.h"
#include "kernels/quantize/cuda/launch.h"
#include "kernels/quantize/cuda/scale.cuh"
#include "kernels/quantize/float_op.h"
#include "kernels/quantize/grid_op.h"
#include "kernels/quantize/posit_op.h"
#include "kernels/quantize/table_op.h"
#include "kernels/simd/cuda_lane.cuh"
#include "numerics/round_scaled.h"

namespace nibble::cuda {

template <class Element>
__device__ __noinline__ std::uint32_t defined_code(const Element& element, float q) {
  return code_of_value(element, static_cast<double>(q));
}

// What the compiler knows of floats.
enum class FloatKind : std::uint8_t { plain, without_minus_zero, any };

template <FloatKind kFloats>
struct Floats {
  static constexpr bool kSingle = kFloats == FloatKind::any;  // a thread takes one element
  static constexpr int kBlocksPerMultiprocessor = kAllBlocks;
  static constexpr bool kPassesNaN = true;  // without arithmetic that would replace it

  __device__ __forceinline__ static float passed_nan(const RoundJob&, float nan) {
    return quiet(nan);
  }

  __device__ explicit Floats(const RoundJob&) {}

  template <RoundingKind kKind>
  __device__ __forceinline__ auto operation(const RoundJob& job, int) const {
    RoundPlan plan = job.plan;
    if constexpr (!kSingle) make_plain(plan.floating, kFloats == FloatKind::plain);
    return FloatOp<Lane, kKind>(plan, nullptr);
  }

  __device__ __forceinline__ std::uint32_t code(const RoundJob& job, float q, int) const {
    const FloatPlan& p = job.plan.floating;
    const std::uint32_t sign = Lane::bits(q) >> job.codes.sign_shift & job.codes.sign_bit;
    // Moved to fp32's own bias, subnormals too are fp32's: their bits are the code's.
    if (!kSingle && job.codes.unit != 0) {
      const std::uint32_t moved = Lane::bits(fabsf(q) * job.codes.unit) >> p.dropped_bits;
      return Lane::min_unsigned(moved, job.codes.largest) | sign;
    }
    const std::uint32_t a = Lane::bits(q) & 0x7FFFFFFFU;
    std::uint32_t code = (a >> p.dropped_bits) - job.codes.rebias;
    // Below min_normal: the last bit of small_magic is the quantum, so that the sum's bits count.
    if (p.min_normal != 0x800000U) {
      const std::uint32_t steps =
          Lane::bits(Lane::floats(a) + p.small_magic) - Lane::bits(p.small_magic);
      code = a < p.min_normal ? steps : code;
    }
    code = Lane::min_unsigned(code, job.codes.largest);
    return job.codes.has_minus_zero || a != 0 ? code | sign : code;
  }
};

struct Grids {
  static constexpr bool kSingle = false;
  static constexpr int kBlocksPerMultiprocessor = kAllBlocks;
  static constexpr bool kPassesNaN = false;

  // Without a bound NaN is passed on as it is.
  __device__ __forceinline__ static float passed_nan(const RoundJob& job, float nan) {
    return job.use == ScaleUse::none && !job.plan.grid.clamps ? nan : quiet(nan);
  }

  __device__ explicit Grids(const RoundJob&) {}

  // The plan has the zero point 0.
  template <RoundingKind kKind>
  __device__ __forceinline__ auto operation(const RoundJob& job, int zero) const {
    RoundPlan plan = job.plan;
    plan.grid.lowest -= static_cast<float>(zero);
    plan.grid.highest -= static_cast<float>(zero);
    using V = std::conditional_t<kKind == RoundingKind::deterministic, Lane, BoundedLane>;
    return GridOp<V, kKind>(plan, nullptr);
  }

  __device__ __forceinline__ std::uint32_t code(const RoundJob& job, float q, int zero) const {
    const auto n = static_cast<std::int32_t>(q * job.plan.grid.steps_per_one) + zero;
    return static_cast<std::uint32_t>(n) & (0xFFFFFFFFU >> (32 - job.codes.bits));
  }
};

// Rare and large: called, not repeated.
template <class Element>
__device__ __noinline__ float defined_element(const Element& element, const Rounding& rounding,
                                              float y, std::uint32_t draw) {
  return static_cast<float>(
      round_element(element, static_cast<double>(y), rounding, Overflow::native, draw));
}

template <class Element>
struct ElementDefinition {
  Element element;
  Rounding rounding;

  __device__ __forceinline__ float operator()(const RoundPlan&, float y, std::uint32_t draw) const {
    return defined_element(element, rounding, y, draw);
  }
};

inline constexpr int kCountedPosit = 16;  // bits whose codes fp32 counts

// Of a value that is a posit.
__device__ __forceinline__ std::uint32_t posit_code(const PositElement& p, float q) {
  const auto bits = static_cast<std::uint32_t>(p.bits);
  const std::uint32_t doubled = doubled_log(Lane::bits(q));
  const std::uint32_t line = ((125U + bits) << 23) - (length_of(doubled) >> (1 + p.exponent_bits));
  const std::uint32_t code =
      posit_count(Lane::bits(q), doubled, line) ^ (~doubled & 0x80000000U) >> (32 - bits);
  return q == 0 ? 0 : code & (0xFFFFFFFFU >> (32 - bits));
}

struct Posits {
  static constexpr bool kSingle = false;
  static constexpr int kBlocksPerMultiprocessor = 32;  // its constants are worth keeping
  static constexpr bool kPassesNaN = true;

  __device__ __forceinline__ static float passed_nan(const RoundJob&, float nan) {
    return quiet(nan);
  }

  __device__ explicit Posits(const RoundJob&) {}

  template <RoundingKind kKind>
  __device__ __forceinline__ auto operation(const RoundJob& job, int) const {
    return PositOp<Lane, kKind, ElementDefinition<PositElement>>(job.plan,
                                                                 {job.posit, job.rounding});
  }

  __device__ __forceinline__ std::uint32_t code(const RoundJob& job, float q, int) const {
    if (job.posit.bits > kCountedPosit) return defined_code(job.posit, q);
    return posit_code(job.posit, q);
  }
};

// A table of the plan as the operation wants it, in shared memory or in the device's.
struct TableView {
  const float* entries;
  __device__ __forceinline__ explicit TableView(const float* values) : entries(values) {}
  __device__ __forceinline__ float operator[](std::uint32_t index) const { return entries[index]; }
};

template <bool kSmall>
struct Tables {
  static constexpr bool kSingle = false;
  static constexpr int kBlocksPerMultiprocessor = kAllBlocks;
  static constexpr bool kPassesNaN = true;
  const float* values;
  TablePlan table;
  TablePlan nearest;

  __device__ __forceinline__ explicit Tables(const RoundJob& job)
      : Tables(arrays_of(job.table), kSmall ? 4 : job.plan.table.levels) {}

  __device__ __forceinline__ Tables(const float* arrays, int levels) {
    table.levels = levels;
    const int size = 1 << levels;
    table.thresholds = arrays;
    table.toward = arrays + size;
    table.away = arrays + 2 * size;
    table.inverse_width = arrays + 3 * size;
    nearest.thresholds = arrays + 4 * size;
    nearest.toward = arrays + 5 * size;
    values = arrays + 6 * size;
  }

  __device__ __forceinline__ static float passed_nan(const RoundJob&, float nan) {
    return quiet(nan);
  }

  template <RoundingKind kKind>
  __device__ __forceinline__ auto operation(const RoundJob& job, int) const {
    return TableOp<Lane, kKind, TableView, ElementDefinition<CodebookTable>>(
        job.plan, table, nearest,
        {{values, static_cast<std::size_t>(job.table.entries)}, job.rounding});
  }

  // The values are distinct and ascending, so that the entry is found by halving.
  __device__ __forceinline__ std::uint32_t code(const RoundJob& job, float q, int) const {
    std::uint32_t low = 0;
    auto high = static_cast<std::uint32_t>(job.table.entries - 1);
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      if (values[middle] < q) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

 private:
  __device__ __forceinline__ static const float* arrays_of(const TableJob& job) {
    if constexpr (!kSmall) return job.large;
    __shared__ float shared[7 * kSmallTable];
    const float* given = job.thresholds;
    for (unsigned i = threadIdx.x; i < 7 * kSmallTable; i += blockDim.x) shared[i] = given[i];
    __syncthreads();
    return shared;
  }
};

}  // namespace nibble::cuda
