// SPDX-License-Identifier: Apache-2.0
// The laws of a batch norm's channels, a thread a channel.
#include <climits>

#include "backend/cuda/kernel_start.cuh"
#include "backend/cuda/normalization.h"

namespace nibble::cuda {
namespace {

constexpr unsigned int kThreads = 32;

// Of a tensor that is about to be rounded.
__device__ void start_counting(DevicePoint& point, std::int64_t elements) {
  point.state.elements = elements;
  point.state.saturated = 0;
  point.saturated = 0;
  ++point.state.batches;
}

__global__ void __launch_bounds__(kThreads) find_lines(const __grid_constant__ NormLinesJob job) {
  start_kernel();
  const std::uint32_t c = blockIdx.x * kThreads + threadIdx.x;
  if (c == 0) start_counting(*job.point, job.elements);
  if (c >= job.channels) return;
  NormTotals& totals = job.norm.totals[c];
  NormChannel& channel = job.norm.channels[c];
  channel.sums = {.values = totals.first,
                  .squares = totals.second,
                  .least = kNormEnd - static_cast<std::int32_t>(totals.low),
                  .most = static_cast<std::int32_t>(totals.high) - kNormEnd};
  totals = {};
  channel.exponent = *job.exponent + (job.sum_shifts != nullptr ? job.sum_shifts[c] : 0);
  channel.statistics = norm_statistics(channel.sums, job.count, channel.exponent);
  channel.line = norm_line(channel.statistics, {job.scale[c], job.shift[c]});
  atomicMax(&job.norm.shared->value_exponent,
            norm_wanted_exponent(channel.line.largest(channel.sums.least, channel.sums.most),
                                 channel.line.exponent));
}

__global__ void __launch_bounds__(kThreads) find_planes(const __grid_constant__ NormPlanesJob job) {
  start_kernel();
  const std::uint32_t c = blockIdx.x * kThreads + threadIdx.x;
  const int error_exponent = *job.error_exponent;
  if (c == 0 && job.point != nullptr) {
    start_counting(*job.point, job.elements);
    NormShared& shared = *job.norm.shared;
    shared.error_exponent = INT_MIN;
    shared.guess = error_exponent + shared.distance;
  }
  if (c >= job.channels) return;
  NormTotals& totals = job.norm.totals[c];
  NormChannel& channel = job.norm.channels[c];
  const NormErrorSums errors{totals.first, totals.second};
  totals = {};
  job.shift_gradient[c] = errors.errors;
  job.scale_gradient[c] = norm_scale_gradient(channel.sums, errors, channel.statistics, job.count);
  if (job.point == nullptr) return;
  NormErrorPlane plane = norm_error_plane(channel.sums, errors, channel.statistics, channel.line,
                                          job.count, channel.exponent);
  plane.exponent += error_exponent;
  channel.plane = plane;
}

unsigned int blocks_of(std::uint64_t channels) {
  return static_cast<unsigned int>((channels + kThreads - 1) / kThreads);
}

}  // namespace

void queue(DeviceQueue& queue, const NormLinesJob& job) {
  queue.launch(find_lines, {.blocks = blocks_of(job.channels), .threads = kThreads}, job);
}
void queue(DeviceQueue& queue, const NormPlanesJob& job) {
  queue.launch(find_planes, {.blocks = blocks_of(job.channels), .threads = kThreads}, job);
}

}  // namespace nibble::cuda
