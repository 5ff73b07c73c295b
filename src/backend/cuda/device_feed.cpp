// SPDX-License-Identifier: Apache-2.0
// Batches through pinned memory.
#include "backend/cuda/device_feed.h"

#include "cuda/errors.h"

namespace nibble::cuda {

DeviceFeed::DeviceFeed(DeviceQueue& queue, DevicePool& pool) : queue_(queue), pool_(pool) {
  const DeviceGuard guard(queue.place());
  check("cuda", cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking));
  for (Place& each : places_) {
    check("cuda", cudaEventCreateWithFlags(&each.copied, cudaEventDisableTiming));
    check("cuda", cudaEventCreateWithFlags(&each.used, cudaEventDisableTiming));
  }
}

DeviceFeed::~DeviceFeed() {
  const DeviceGuard guard(queue_.place());
  cudaStreamSynchronize(copies_);
  for (Place& each : places_) {
    cudaFreeHost(each.pinned);
    if (each.copied != nullptr) cudaEventDestroy(each.copied);
    if (each.used != nullptr) cudaEventDestroy(each.used);
  }
  cudaStreamDestroy(copies_);
}

std::span<std::byte> DeviceFeed::next(std::size_t bytes) {
  queue_.flush();  // what reads the batch before
  const DeviceGuard guard(queue_.place());
  check("cuda",
        cudaEventRecord(places_[at_].used, static_cast<cudaStream_t>(queue_.place().stream)));
  at_ = (at_ + 1) % places_.size();
  bytes_ = bytes;
  Place& place = places_[at_];
  check("cuda", cudaEventSynchronize(place.copied));
  if (place.size < bytes) {
    check("cuda", cudaEventSynchronize(place.used));
    check("cuda", cudaFreeHost(place.pinned));
    place.pinned = nullptr;
    place.size = 0;
    check("cuda", cudaMallocHost(&place.pinned, bytes));
    place.memory = pool_.take(bytes);
    place.size = bytes;
  }
  return {static_cast<std::byte*>(place.pinned), bytes};
}

const void* DeviceFeed::send() {
  const DeviceGuard guard(queue_.place());
  Place& place = places_[at_];
  check("cuda", cudaStreamWaitEvent(copies_, place.used, 0));
  check("cuda", cudaMemcpyAsync(place.memory.as<void>(), place.pinned, bytes_,
                                cudaMemcpyHostToDevice, copies_));
  check("cuda", cudaEventRecord(place.copied, copies_));
  check("cuda",
        cudaStreamWaitEvent(static_cast<cudaStream_t>(queue_.place().stream), place.copied, 0));
  return place.memory.as<void>();
}

}  // namespace nibble::cuda
