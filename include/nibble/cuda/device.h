// SPDX-License-Identifier: Apache-2.0
// GPUs as the rest of the code sees them: whether there are any, and where work goes.
#pragma once

#include <new>

namespace nibble::cuda {

// A stream of a device: work is queued there and the call returns at once.
struct Place {
  int device = 0;
  void* stream = nullptr;  // a cudaStream_t; null is the device's default stream
};

bool is_built();  // false in a build without the CUDA toolkit

int device_count();  // 0 without a driver, without a GPU and without the toolkit

// The place's device is the current one of this thread as long as the guard lives.
class DeviceGuard {
 public:
  explicit DeviceGuard(const Place& place);
  // For destructors: where the device is lost, nothing that they give back is there any more.
  DeviceGuard(const Place& place, std::nothrow_t) noexcept;
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int previous_ = -1;
};

// Returns when all that was queued there is done.
void wait_for(const Place& place);

// Throws what the last launch of this thread on the current device was refused with.
void check_launch(const char* op);

int multiprocessors(int device);

}  // namespace nibble::cuda
