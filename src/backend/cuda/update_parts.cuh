// SPDX-License-Identifier: Apache-2.0
// What updates by either rule share.
#pragma once

#include "backend/cuda/training_kernels.h"

namespace nibble::cuda {

__device__ inline void fill_up(const FilledUp& filled, std::uint32_t i, std::int8_t mantissa) {
  if (filled.to == nullptr) return;
  const std::uint32_t pair = filled.in.quotient(i);
  filled.to[std::size_t{pair} * filled.pitch + filled.in.remainder(i, pair)] = mantissa;
}

// Four weights at a time.
struct FourGradients {
  std::int64_t number[4];
};
__device__ inline FourGradients gradients_at(const UpdateJob& job, std::uint32_t i) {
  if (job.is_wide) {
    const auto* sums = reinterpret_cast<const longlong2*>(job.sums) + i / 2;
    return {sums[0].x, sums[0].y, sums[1].x, sums[1].y};
  }
  const int4 sums = reinterpret_cast<const int4*>(job.sums)[i / 4];
  return {sums.x, sums.y, sums.z, sums.w};
}

// body(first of four) for all weights: memory of sums and mantissas reaches to a multiple of four.
template <class Body>
__device__ void for_each_four(std::uint32_t count, const Body& body) {
  for (std::uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) * 4; i < count;
       i += gridDim.x * blockDim.x * 4)
    body(i);
}

}  // namespace nibble::cuda
