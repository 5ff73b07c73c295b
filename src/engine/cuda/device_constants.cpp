// SPDX-License-Identifier: Apache-2.0
// Brings constants to a GPU.
#include "engine/cuda/device_constants.h"

#include "cuda/errors.h"

namespace nibble::inline engine {

const void* DeviceConstants::keep_bytes(const void* from, std::size_t bytes) {
  const cuda::DeviceGuard guard(place_);
  cuda::DeviceBuffer buffer = pool_.take(bytes);
  cuda::check("cuda", cudaMemcpy(buffer.as<>(), from, bytes, cudaMemcpyHostToDevice));
  bytes_ += bytes;
  buffers_.push_back(std::move(buffer));
  return buffers_.back().as<>();
}

}  // namespace nibble::inline engine
