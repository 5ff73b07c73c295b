// SPDX-License-Identifier: Apache-2.0
// Scales from the data, on the device.
#include "kernels/quantize/cuda/ranges.h"

#include <algorithm>

#include "cuda/before_ampere.cuh"
#include "cuda/errors.h"
#include "kernels/quantize/block_scales.h"
#include "kernels/quantize/cuda/values.cuh"

namespace nibble::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerMultiprocessor = 8;
constexpr int kLoads = 4;  // vectors of a thread on their way at the same time

struct RunningRange {
  std::uint32_t high = 0;
  std::uint32_t low = 0;
  bool as_packages;

  __device__ explicit RunningRange(const RangeJob& job) : as_packages(job.as_packages) {}

  __device__ __forceinline__ void take(float x) {
    const std::uint32_t bits = Lane::bits(x);
    const std::uint32_t a = bits & 0x7FFFFFFFU;
    const std::uint32_t magnitude = as_packages ? a : counted_magnitude<Lane>(a);
    if (bits == a) {
      high = Lane::max_unsigned(high, magnitude);
    } else {
      low = Lane::max_unsigned(low, magnitude);
    }
  }

  // Many at once: the largest and the least tell whether all are finite.
  template <int kVectors>
  __device__ __forceinline__ void take_all(const float (&x)[kVectors][kVector]) {
    float most = x[0][0];
    float least = x[0][0];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        most = BoundedLane::max(most, x[v][e]);
        least = BoundedLane::min(least, x[v][e]);
      }
    }
    constexpr float kLargest = 0x1.FFFFFEp127F;
    if (most <= kLargest && least >= -kLargest) {
      high = Lane::max_unsigned(high, Lane::bits(fmaxf(most, 0.0F)));
      low = Lane::max_unsigned(low, Lane::bits(fmaxf(-least, 0.0F)));
      return;
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
#pragma unroll
      for (int e = 0; e < kVector; ++e) take(x[v][e]);
    }
  }

  __device__ __forceinline__ void join_warp() {
    high = __reduce_max_sync(0xFFFFFFFFU, high);
    low = __reduce_max_sync(0xFFFFFFFFU, low);
  }

  // What is there already only grows, so that a look saves most of the work.
  __device__ __forceinline__ void add_to(GroupRange& range) const {
    if (high > *const_cast<volatile std::uint32_t*>(&range.high)) atomicMax(&range.high, high);
    if (low > *const_cast<volatile std::uint32_t*>(&range.low)) atomicMax(&range.low, low);
  }
};

__global__ void __launch_bounds__(kThreads) tensor_range(const __grid_constant__ RangeJob job) {
  RunningRange range(job);
  constexpr std::int64_t kPiece = std::int64_t{kThreads} * kVector;
  const std::int64_t step = std::int64_t{gridDim.x} * kPiece * kLoads;
  for (std::int64_t first = blockIdx.x * kPiece * kLoads + threadIdx.x * kVector; first < job.count;
       first += step) {
    const bool is_whole = first + (kLoads - 1) * kPiece + kVector <= job.count;
    const ConstValues input{job.input, job.type, is_whole && job.is_aligned};
    float x[kLoads][kVector];
#pragma unroll
    for (int v = 0; v < kLoads; ++v) load_vector(input, first + v * kPiece, job.count, x[v]);
    range.take_all(x);
  }
  range.join_warp();
  if (threadIdx.x % 32 == 0) range.add_to(*job.ranges);
}

__global__ void __launch_bounds__(kThreads) axis_ranges(const __grid_constant__ RangeJob job) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < job.count;
       i += step) {
    const std::int64_t group = job.is_short ? job.grouping.group_of(static_cast<std::uint32_t>(i))
                                            : job.grouping.group_of(i);
    RunningRange range(job);
    range.take(load_value(job.input, job.type, i));
    range.add_to(job.ranges[group]);
  }
}

// Along the last axis a warp takes a block, otherwise a thread does: neighbours in memory are then
// neighbouring threads.
__global__ void __launch_bounds__(kThreads) block_ranges(const __grid_constant__ RangeJob job) {
  const Grouping& g = job.grouping;
  const int lanes = g.inner == 1 ? 32 : 1;
  const int lane = g.inner == 1 ? static_cast<int>(threadIdx.x % 32) : 0;
  const std::int64_t groups = g.outer * g.blocks_a_line * g.inner;
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads / lanes;
  for (std::int64_t group = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) / lanes;
       group < groups; group += step) {
    const std::int64_t line = group / (g.blocks_a_line * g.inner);
    const std::int64_t begin = group / g.inner % g.blocks_a_line * g.block;
    const std::int64_t end = begin + g.block < g.length ? begin + g.block : g.length;
    RunningRange range(job);
    for (std::int64_t l = begin + lane; l < end; l += lanes) {
      range.take(
          load_value(job.input, job.type, (line * g.length + l) * g.inner + group % g.inner));
    }
    if (lanes > 1) range.join_warp();
    if (lane == 0) job.ranges[group] = {range.high, range.low};
  }
}

__global__ void __launch_bounds__(kThreads) scales_of(const __grid_constant__ GroupScaleJob job) {
  const std::int64_t group = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (group >= job.groups) return;
  const float high = Lane::floats(job.ranges[group].high);
  const float low = -Lane::floats(job.ranges[group].low);
  const float amax =
      Lane::floats(Lane::max_unsigned(job.ranges[group].high, job.ranges[group].low));
  GroupScale result;
  float stored = 0;
  switch (job.kind) {
    case ScaleKind::power_of_two:
      stored = result.scale = std::ldexp(1.0F, shared_exponent(job.rules, amax));
      break;
    case ScaleKind::minmax:
      result = minmax_scale(job.rules, low, high);
      stored = result.scale;
      break;
    case ScaleKind::two_level:
      if (job.tensor_scale == nullptr) {
        stored = result.scale = two_level_tensor_scale(job.rules, amax);
      } else {
        stored = two_level_block_scale(job.rules, amax, *job.tensor_scale);
        result.scale = stored * *job.tensor_scale;
      }
      break;
    default:
      stored = result.scale = absmax_scale(job.rules, amax);
      break;
  }
  if (job.scales != nullptr) job.scales[group] = result.scale;
  if (job.zeros != nullptr) job.zeros[group] = result.zero;
  if (job.stored_scales != nullptr) job.stored_scales[group] = stored;
  if (job.stored_zeros != nullptr) job.stored_zeros[group] = result.zero;
}

unsigned blocks_for(std::int64_t threads, const Place& place) {
  const std::int64_t most = std::int64_t{multiprocessors(place.device)} * kBlocksPerMultiprocessor;
  return static_cast<unsigned>(
      std::clamp<std::int64_t>((threads + kThreads - 1) / kThreads, 1, most));
}

}  // namespace

void find_ranges(const RangeJob& job, const Place& place) {
  const auto stream = static_cast<cudaStream_t>(place.stream);
  const Grouping& g = job.grouping;
  if (g.granularity == Granularity::block) {
    const std::int64_t groups = g.outer * g.blocks_a_line * g.inner;
    if (groups == 0) return;
    const std::int64_t threads = g.inner == 1 ? groups * 32 : groups;
    block_ranges<<<blocks_for(threads, place), kThreads, 0, stream>>>(job);
    check_launch("quantize");
    return;
  }
  const auto groups = static_cast<std::size_t>(g.granularity == Granularity::axis ? g.length : 1);
  check("quantize", cudaMemsetAsync(job.ranges, 0, groups * sizeof(GroupRange), stream));
  if (g.granularity == Granularity::axis) {
    axis_ranges<<<blocks_for(job.count, place), kThreads, 0, stream>>>(job);
  } else {
    constexpr std::int64_t kElements = std::int64_t{kVector} * kLoads;
    tensor_range<<<blocks_for((job.count + kElements - 1) / kElements, place), kThreads, 0,
                   stream>>>(job);
  }
  check_launch("quantize");
}

void find_scales(const GroupScaleJob& job, const Place& place) {
  if (job.groups == 0) return;
  const auto blocks = static_cast<unsigned>((job.groups + kThreads - 1) / kThreads);
  scales_of<<<blocks, kThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(job);
  check_launch("quantize");
}

}  // namespace nibble::cuda
