// SPDX-License-Identifier: Apache-2.0
// Batches of a data set that is larger than the GPU's memory: through pinned memory, copied while
// the GPU computes on those before.
#pragma once

#include <array>
#include <span>

#include "backend/cuda/device_pool.h"

namespace nibble::cuda {

class DeviceFeed {
 public:
  DeviceFeed(DeviceQueue& queue, DevicePool& pool);
  ~DeviceFeed();
  DeviceFeed(const DeviceFeed&) = delete;
  DeviceFeed& operator=(const DeviceFeed&) = delete;

  // Where the host writes the next batch; waits where it is more batches ahead than there are
  // places.
  std::span<std::byte> next(std::size_t bytes);
  // Sends it; what is queued from here on finds it there.
  const void* send();

 private:
  struct Place {
    void* pinned = nullptr;
    std::size_t size = 0;
    DeviceBuffer memory;
    cudaEvent_t copied = nullptr;
    cudaEvent_t used = nullptr;  // by what was queued before the batch after it
  };

  DeviceQueue& queue_;
  DevicePool& pool_;
  cudaStream_t copies_ = nullptr;
  std::array<Place, 3> places_;  // one that the GPU reads, two ahead
  std::size_t at_ = 0;
  std::size_t bytes_ = 0;  // of the batch
};

}  // namespace nibble::cuda
