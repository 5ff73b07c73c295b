// SPDX-License-Identifier: Apache-2.0
// Memory by the CUDA runtime.
#include "cuda/memory.h"

#include <algorithm>

#include "cuda/errors.h"

namespace nibble::cuda {

std::shared_ptr<void> allocate(std::size_t bytes, int device) {
  const DeviceGuard guard({.device = device});
  void* memory = nullptr;
  check("cuda", cudaMalloc(&memory, std::max<std::size_t>(bytes, 1)));
  return {memory, [](void* own) { cudaFree(own); }};  // which waits for the device
}

std::int64_t free_bytes(const Place& place) {
  const DeviceGuard guard(place, std::nothrow);
  std::size_t left = 0;
  std::size_t all = 0;
  if (cudaMemGetInfo(&left, &all) == cudaSuccess) return static_cast<std::int64_t>(left);
  cudaGetLastError();
  return 0;
}

void copy(void* to, const void* from, std::size_t bytes, const Place& place) {
  if (bytes == 0) return;
  const DeviceGuard guard(place);
  const auto stream = static_cast<cudaStream_t>(place.stream);
  check("cuda", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
  check("cuda", cudaStreamSynchronize(stream));
}

}  // namespace nibble::cuda
