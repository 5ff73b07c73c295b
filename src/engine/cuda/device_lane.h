// SPDX-License-Identifier: Apache-2.0
// A stream of a GPU with the memory of one run at a time. Every size of batch is recorded at its
// first run, or when another lane had it, and replayed from then on.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>

#include "backend/cuda/device_pool.h"
#include "backend/cuda/device_queue.h"
#include "engine/cuda/batch_sizes.h"
#include "engine/cuda/device_plan.h"
#include "engine/runner.h"

namespace nibble::inline engine {

class DeviceLane {
 public:
  // The plan must outlive it.
  DeviceLane(const DevicePlan& plan, int device);
  ~DeviceLane();
  DeviceLane(const DeviceLane&) = delete;
  DeviceLane& operator=(const DeviceLane&) = delete;

  // At most as many examples as the plan has; does not wait.
  void run(const std::byte* input, std::int64_t images, std::byte* output);
  void run_apart(ExamplesApart examples, std::byte* output);
  // Waits for each step.
  void run_watched(const std::byte* input, std::int64_t images, std::byte* output,
                   const ResultWatcher& watch);
  // Adds up the seconds of each step by the clock of the GPU: bringing examples into place counts
  // for the first, gathering answers for the last.
  void run_timed(const std::byte* input, std::int64_t images, std::byte* output,
                 std::span<double> seconds);

  // Whether all numbers since the last call were within the range of the input; waits.
  bool finish();

  // Records what it has not of these sizes and forgets all others; nothing may be on its way.
  void keep(const BatchSizes& sizes);
  // Since it last kept sizes, others have come.
  bool is_behind(const BatchSizes& sizes) const { return kept_version_ != sizes.version(); }

 private:
  DeviceRun run_of(std::int64_t images);
  void bring(const std::byte* input, std::int64_t images, std::size_t place = 0);
  void compute(std::int64_t images, std::byte* output);
  const cuda::DeviceGraph& record(std::int64_t images);
  void load(const std::byte* input, std::int64_t images);
  void store(std::int64_t images, std::byte* output);
  void show(std::size_t value, std::int64_t images, const ResultWatcher& watch);

  const DevicePlan& plan_;
  cuda::DeviceQueue queue_;
  cuda::DevicePool pool_;
  cuda::DeviceBuffer arena_;
  cuda::DeviceBuffer sums_;
  cuda::DeviceBuffer arrived_;
  cuda::DeviceBuffer input_;
  cuda::DeviceBuffer output_;
  std::uint32_t* is_wrong_ = nullptr;                                  // pinned
  std::map<std::int64_t, std::unique_ptr<cuda::DeviceGraph>> graphs_;  // by images
  std::uint64_t kept_version_ = 0;                                     // of the sizes
};

}  // namespace nibble::inline engine
