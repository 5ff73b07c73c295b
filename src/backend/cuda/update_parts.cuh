// SPDX-License-Identifier: Apache-2.0
// What updates by either rule share.
#pragma once

#include "backend/cuda/block_totals.cuh"
#include "backend/cuda/chunks.cuh"
#include "backend/cuda/job_list.cuh"
#include "backend/cuda/training_kernels.h"

namespace nibble::cuda {

__device__ inline void fill_up(const FilledUp& filled, std::uint32_t i, std::int8_t mantissa) {
  if (filled.grouped != nullptr) return filled.grouped->put(i, mantissa);
  if (filled.to == nullptr) return;
  const std::uint32_t pair = filled.in.quotient(i);
  filled.to[std::size_t{pair} * filled.pitch + filled.in.remainder(i, pair)] = mantissa;
}

// Four weights at a time.
struct FourGradients {
  std::int64_t number[4];
};
__device__ inline FourGradients gradients_at(const UpdateJob& job, std::uint32_t i) {
  if (job.planes == 0) {
    const auto* sums = reinterpret_cast<const longlong2*>(job.sums) + i / 2;
    return {sums[0].x, sums[0].y, sums[1].x, sums[1].y};
  }
  FourGradients four{};
  const std::size_t plane = (job.elements + 3) / 4;
  for (std::uint32_t p = 0; p < job.planes; ++p) {
    const int4 sums = reinterpret_cast<const int4*>(job.sums)[p * plane + i / 4];
    four.number[0] += sums.x;
    four.number[1] += sums.y;
    four.number[2] += sums.z;
    four.number[3] += sums.w;
  }
  return four;
}

// body(first of four) for all weights: memory of sums and mantissas reaches to a multiple of four.
template <class Body>
__device__ void for_each_four(const JobShare& share, std::uint32_t count, const Body& body) {
  for (std::uint32_t i = (share.block * blockDim.x + threadIdx.x) * 4; i < count;
       i += share.blocks * blockDim.x * 4)
    body(i);
}

// Every thread of a job's blocks comes here once, as its last act; every number that moved is
// counted.
__device__ inline void end_update(const JobShare& share, DeviceUpdate& record, std::uint32_t moved,
                                  int shift) {
  const BlockTotals all = block_totals(0, moved);
  if (threadIdx.x != 0) return;
  if (all.sum > 0) atomic_add(&record.moved_so_far, all.sum);
  if (!is_last_block(&record.blocks_done, share.blocks)) return;
  record = {.moved = static_cast<std::int64_t>(record.moved_so_far),
            .largest = 0,
            .decayed = 0,
            .moved_so_far = 0,
            .shift = shift,
            .blocks_done = 0,
            .halvings = 0,
            .unused = 0};
}

// The same kernels, one behind the other, for all jobs.
template <class... Kernels>
void queue_updates(DeviceQueue& queue, std::span<const UpdateJob> jobs, Kernels... kernels) {
  for_each_list(
      jobs, [&](const UpdateJob& job) { return grid_of(queue, (job.elements + 3) / 4).blocks; },
      [&](const JobList<UpdateJob>& list, std::uint32_t blocks) {
        (queue.launch(kernels, {.blocks = blocks}, list), ...);
      });
}

}  // namespace nibble::cuda
