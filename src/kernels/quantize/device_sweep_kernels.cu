// SPDX-License-Identifier: Apache-2.0
// All fp32 patterns on the device, and the comparison there.
#include "cuda/errors.h"
#include "kernels/quantize/device_sweep.h"

namespace nibble::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 2048;

__global__ void fill_kernel(std::uint32_t* values, std::uint32_t first, std::size_t count) {
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += std::size_t{kBlocks} * kThreads) {
    values[i] = first + static_cast<std::uint32_t>(i);
  }
}

__global__ void compare_kernel(const std::uint32_t* a, const std::uint32_t* b, std::size_t count,
                               SweepResult* result) {
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += std::size_t{kBlocks} * kThreads) {
    if (a[i] == b[i]) continue;
    atomicAdd(&result->different, 1ULL);
    atomicMax(&result->example, static_cast<unsigned long long>(i) + 1);
  }
}

}  // namespace

void fill_patterns(std::uint32_t* values, std::uint32_t first, std::size_t count,
                   const Place& place) {
  fill_kernel<<<kBlocks, kThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(values, first,
                                                                                 count);
  check_launch("sweep");
}

void compare_bits(const std::uint32_t* a, const std::uint32_t* b, std::size_t count,
                  SweepResult* result, const Place& place) {
  compare_kernel<<<kBlocks, kThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(a, b, count,
                                                                                    result);
  check_launch("sweep");
}

}  // namespace nibble::cuda
