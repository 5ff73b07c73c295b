// SPDX-License-Identifier: Apache-2.0
// Several jobs in one launch: each has blocks of its own, as many as it would ask for alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "backend/cuda/device_queue.h"

namespace nibble::cuda {

template <class Job>
struct JobList {
  static constexpr std::uint32_t kMost = 16;

  Job jobs[kMost];
  std::uint32_t ends[kMost];  // of their blocks, which follow one another
};

// The job that this block works on, and which of its blocks this is.
struct JobShare {
  std::uint32_t job;
  std::uint32_t block;
  std::uint32_t blocks;
};

template <class Job>
__device__ __forceinline__ JobShare own_share(const JobList<Job>& list) {
  std::uint32_t job = 0;
  std::uint32_t begin = 0;
  while (blockIdx.x >= list.ends[job]) begin = list.ends[job++];
  return {job, blockIdx.x - begin, list.ends[job] - begin};
}

// launch(list, blocks) as often as there are lists; blocks_of(job) says how many a job asks for.
template <class Job, class BlocksOf, class Launch>
void for_each_list(std::span<const Job> jobs, const BlocksOf& blocks_of, const Launch& launch) {
  while (!jobs.empty()) {
    JobList<Job> list{};
    const std::size_t count = std::min<std::size_t>(jobs.size(), JobList<Job>::kMost);
    std::uint32_t blocks = 0;
    for (std::size_t i = 0; i < count; ++i) {
      list.jobs[i] = jobs[i];
      list.ends[i] = blocks += blocks_of(jobs[i]);
    }
    launch(list, blocks);
    jobs = jobs.subspan(count);
  }
}

}  // namespace nibble::cuda
