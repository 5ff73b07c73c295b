// SPDX-License-Identifier: Apache-2.0
// A GPU made smaller, so that plans can be tested where the whole one wins every time: few of its
// multiprocessors, and copies that take longer. NIBBLE_CUDA_LIMITS="sms=8,copy_us=50,ps_a_byte=500"
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace nibble::cuda {

struct DeviceLimits {
  std::int64_t multiprocessors = 0;  // 0: all
  std::int64_t copy_microseconds = 0;
  std::int64_t copy_picoseconds_a_byte = 0;

  std::int64_t copy_nanoseconds(std::size_t bytes) const {
    return 1000 * copy_microseconds +
           static_cast<std::int64_t>(bytes) * copy_picoseconds_a_byte / 1000;
  }
};

// What the environment says, else none.
DeviceLimits device_limits();

// A stream whose kernels run on no more multiprocessors than that, in eights; 0: on all.
struct LimitedStream {
  cudaStream_t stream = nullptr;
  unsigned int multiprocessors = 0;
};
LimitedStream make_stream(int device, const DeviceLimits& limits);

// What is queued there from here on begins so much later.
void delay(cudaStream_t stream, std::int64_t nanoseconds);

}  // namespace nibble::cuda
