// SPDX-License-Identifier: Apache-2.0
// Guess and verify: sums are rounded by the shift of the last batch while their maximum is found;
// the last block of that pass decides, and a second pass with the right shift returns at once where
// the guess was right.
#pragma once

#include "backend/cuda/device_params.h"
#include "core/philox_draws.h"
#include "nibble/fixed/bit_width.h"

namespace nibble::cuda {

inline constexpr int kNarrowShift = 30;  // 32-bit roundings hold up to here

// Ten rounds of multiplications are better called than repeated.
__device__ __noinline__ inline std::uint32_t draw_of(const RandomKey& key, std::uint64_t element) {
  return philox::draw32(key, element);
}

// Of one pass, as one thread sees it.
class RoundingPass {
 public:
  __device__ __forceinline__ explicit RoundingPass(const RoundingSite& site) : site_(site) {
    const DevicePoint& point = *site.point;
    is_needed_ = !site.is_repeat || point.is_missed != 0;
    shift_ = site.is_repeat ? point.shift : max(point.state.shift, 0);
    if (site.rounding == ShiftRounding::stochastic)
      key_ = {site.step->seed, site.stream, site.step->step};
  }

  __device__ __forceinline__ bool is_needed() const { return is_needed_; }

  // `element` counts through the batch of all ranks, without what fills rows up.
  template <class Sum>
  __device__ __forceinline__ std::int8_t round(Sum sum, std::uint64_t element) {
    const auto magnitude = static_cast<std::uint64_t>(magnitude_of<Sum>(sum));
    largest_ = largest_ > magnitude ? largest_ : magnitude;
    const std::uint32_t draw =
        site_.rounding == ShiftRounding::stochastic ? draw_of(key_, element) : 0;
    return keep(round_shift(site_.rounding, sum, shift_, draw));
  }

  // Of the 16 results of a chunk the first `count`, zeros behind them; sum_at(i) is the i-th sum.
  template <class SumAt>
  __device__ __forceinline__ uint4 round_chunk(const SumAt& sum_at, std::uint64_t element,
                                               std::uint32_t count) {
    using Sum = decltype(sum_at(0u));
    std::uint32_t words[4] = {};
    if (sizeof(Sum) == sizeof(std::int32_t) && site_.rounding == ShiftRounding::nearest &&
        shift_ <= kNarrowShift) {
      std::uint32_t most = 0;
#pragma unroll
      for (std::uint32_t i = 0; i < kChunk; ++i) {
        const auto sum = static_cast<std::int32_t>(i < count ? sum_at(i) : 0);
        most = max(most, magnitude_of<std::int32_t>(sum));
        const std::int8_t kept = keep(shift_nearest<std::int32_t>(sum, shift_));
        words[i / 4] |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(kept)) << i % 4 * 8;
      }
      largest_ = largest_ > most ? largest_ : most;
    } else {
#pragma unroll
      for (std::uint32_t w = 0; w < 4; ++w) {
#pragma unroll 1
        for (std::uint32_t i = w * 4; i < min(count, w * 4 + 4); ++i) {
          const std::int8_t kept = round(sum_at(i), element + i);
          words[w] |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(kept)) << i % 4 * 8;
        }
      }
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
  }

  // Every thread of the block comes here once. `sum_exponent` is that of the sums, `exponent` where
  // the result's goes.
  __device__ void end(int sum_exponent, std::int32_t* exponent) const;

 private:
  template <class Signed>
  __device__ __forceinline__ std::int8_t keep(Signed rounded) {
    const Signed kept = rounded > 127 ? 127 : (rounded < -127 ? -127 : rounded);
    saturated_ += kept != rounded ? 1 : 0;
    return static_cast<std::int8_t>(kept);
  }

  const RoundingSite& site_;
  RandomKey key_{};
  std::uint64_t largest_ = 0;
  std::uint32_t saturated_ = 0;
  int shift_;
  bool is_needed_;
};

// The law of the shift: from the largest sum of this batch or, where the rule says so, as it was.
__device__ inline void decide(DevicePoint& point, ShiftRule rule, std::int64_t elements,
                              std::int32_t* exponent) {
  PointState& state = point.state;
  const int guess = max(state.shift, 0);
  const int wanted = max(bits_of(point.largest) - 7, 0);
  const bool is_given = rule == ShiftRule::frozen ||
                        (rule == ShiftRule::delayed && state.shift != PointState::kUnknown);
  point.shift = is_given ? guess : wanted;
  point.is_missed = point.shift != guess ? 1 : 0;
  if (rule != ShiftRule::frozen) {
    if (wanted != state.shift) state.other = state.shift;
    state.shift = wanted;
  }
  ++state.batches;
  state.elements = elements;
  state.misses += point.is_missed;
  state.saturated = point.is_missed != 0 ? 0 : static_cast<std::int64_t>(point.saturated);
  point.largest = 0;
  point.saturated = 0;
  point.blocks_done = 0;
  *exponent = point.sum_exponent + point.shift;
}

__device__ __forceinline__ void atomic_add(std::uint64_t* to, std::uint64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}
__device__ __forceinline__ void atomic_max(std::uint64_t* to, std::uint64_t value) {
  atomicMax(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

// The largest and the sum of all threads of a block, at its first thread.
struct BlockTotals {
  std::uint64_t largest;
  std::uint64_t sum;
};
__device__ inline BlockTotals block_totals(std::uint64_t largest, std::uint32_t count) {
  __shared__ BlockTotals parts[32];
  const unsigned int lane = threadIdx.x % 32;
  const unsigned int warps = blockDim.x / 32;
  for (int reach = 16; reach > 0; reach /= 2) {
    const std::uint64_t other = __shfl_down_sync(0xffffffffu, largest, reach);
    largest = other > largest ? other : largest;
  }
  const std::uint32_t sum = __reduce_add_sync(0xffffffffu, count);
  __syncthreads();  // parts may be in use from an earlier call
  if (lane == 0) parts[threadIdx.x / 32] = {largest, sum};
  __syncthreads();
  BlockTotals all{0, 0};
  if (threadIdx.x == 0) {
    for (unsigned int i = 0; i < warps; ++i) {
      all.largest = all.largest > parts[i].largest ? all.largest : parts[i].largest;
      all.sum += parts[i].sum;
    }
  }
  return all;
}

// True at the first thread of the block that ends last, which then sees what all others wrote.
__device__ inline bool is_last_block(std::uint32_t* blocks_done) {
  __threadfence();
  const std::uint32_t blocks = gridDim.x * gridDim.y;
  if (atomicAdd(blocks_done, 1u) + 1 != blocks) return false;
  __threadfence();
  return true;
}

__device__ inline void RoundingPass::end(int sum_exponent, std::int32_t* exponent) const {
  const BlockTotals all = block_totals(largest_, saturated_);
  if (threadIdx.x != 0) return;
  DevicePoint& point = *site_.point;
  if (site_.is_repeat) {
    if (all.sum > 0) atomic_add(reinterpret_cast<std::uint64_t*>(&point.state.saturated), all.sum);
    return;
  }
  if (all.largest > 0) atomic_max(&point.largest, all.largest);
  if (all.sum > 0) atomic_add(&point.saturated, all.sum);
  if (!is_last_block(&point.blocks_done)) return;
  point.sum_exponent = sum_exponent;
  if (!site_.meets_ranks) decide(point, site_.step->rule, site_.elements, exponent);
}

}  // namespace nibble::cuda
