// SPDX-License-Identifier: Apache-2.0
// The laws of a batch norm's channels, a thread a channel, by the block that has their sums.
#pragma once

#include <climits>

#include "backend/cuda/normalization.h"
#include "cuda/before_ampere.cuh"

namespace nibble::cuda {

// Of all threads of a block, at every one.
__device__ inline std::int32_t most_of_block(std::int32_t own) {
  __shared__ std::int32_t most;
  __syncthreads();  // it may be in use from an earlier call
  if (threadIdx.x == 0) most = INT_MIN;
  __syncthreads();
  own = __reduce_max_sync(0xffffffffu, own);
  if (threadIdx.x % 32 == 0) atomicMax(&most, own);
  __syncthreads();
  return most;
}

// What other blocks have added up; zeros for the next time.
__device__ inline NormTotals take(NormTotals& totals) {
  const NormTotals all{__ldcg(&totals.first), __ldcg(&totals.second), __ldcg(&totals.high),
                       __ldcg(&totals.low)};
  totals = {};
  return all;
}

// Of a tensor that is about to be rounded.
__device__ inline void start_counting(DevicePoint& point, std::int64_t elements) {
  point.state.elements = elements;
  point.state.saturated = 0;
  point.saturated = 0;
  ++point.state.batches;
}

// Of channel c; all threads of the block come here, some without a channel.
__device__ __noinline__ inline void apply_laws(const NormLinesJob& job, std::uint32_t plane,
                                               std::uint32_t c, bool has_channel) {
  if (c == 0) start_counting(*job.point, job.elements);
  int wanted = INT_MIN;
  if (has_channel) {
    const NormTotals totals = take(job.norm.totals[c]);
    NormChannel& channel = job.norm.channels[c];
    channel.sums = {.values = totals.first,
                    .squares = totals.second,
                    .least = kNormEnd - static_cast<std::int32_t>(totals.low),
                    .most = static_cast<std::int32_t>(totals.high) - kNormEnd};
    channel.exponent = *job.exponent + (job.sum_shifts != nullptr ? job.sum_shifts[c] : 0);
    const NormMoments moments = norm_moments(channel.sums, job.count, channel.exponent);
    channel.statistics = norm_statistics(moments);
    if (job.running != nullptr) {
      job.running[c] =
          running_moments(job.running[c], moments, static_cast<int>(job.running_share));
    }
    channel.line = norm_line(channel.statistics, {job.scale[c], job.shift[c]});
    wanted = norm_wanted_exponent(channel.line.largest(channel.sums.least, channel.sums.most),
                                  channel.line.exponent);
  }
  wanted = most_of_block(wanted);
  if (threadIdx.x == 0) job.norm.planes[plane].value_exponent = wanted;
}

__device__ __noinline__ inline void apply_laws(const NormPlanesJob& job, std::uint32_t /*plane*/,
                                               std::uint32_t c, bool has_channel) {
  const int error_exponent = *job.error_exponent;
  if (c == 0 && job.point != nullptr) {
    start_counting(*job.point, job.elements);
    NormShared& shared = *job.norm.shared;
    shared.error_exponent = INT_MIN;
    shared.guess = error_exponent + shared.distance;
  }
  if (!has_channel) return;
  const NormTotals totals = take(job.norm.totals[c]);
  NormChannel& channel = job.norm.channels[c];
  const NormErrorSums errors{totals.first, totals.second};
  job.shift_gradient[c] = errors.errors;
  job.scale_gradient[c] = norm_scale_gradient(channel.sums, errors, channel.statistics, job.count);
  if (job.point == nullptr) return;
  NormErrorPlane plane = norm_error_plane(channel.sums, errors, channel.statistics, channel.line,
                                          job.count, channel.exponent);
  plane.exponent += error_exponent;
  channel.plane = plane;
}

}  // namespace nibble::cuda
