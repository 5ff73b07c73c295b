// SPDX-License-Identifier: Apache-2.0
// All fp32 patterns on the device, and the comparison there.
#include "cuda/errors.h"
#include "kernels/quantize/cuda/device_sweep.h"
#include "kernels/quantize/cuda/divisor.cuh"

namespace nibble::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 2048;

__global__ void fill_kernel(std::uint32_t* values, std::uint32_t first, std::size_t count) {
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += std::size_t{kBlocks} * kThreads) {
    values[i] = pattern_at(first + static_cast<std::uint32_t>(i));
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

// A number of this significand, 2^-spread to 2^spread in size.
__device__ float number_of(std::uint32_t significand, std::uint32_t random, int spread) {
  const std::uint32_t exponent = 127 - spread + random % static_cast<std::uint32_t>(2 * spread);
  return Lane::floats((random & 0x80000000U) | exponent << 23 | significand);
}

__global__ void divisions_kernel(SweepResult* result) {
  constexpr std::uint32_t kSignificands = 1U << 23;
  for (std::uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < kSignificands;
       i += kBlocks * kThreads) {
    const float d = fabsf(number_of(i, i * 0x9E3779B9U, 60));
    const ExactDivisor divisor(d);
    if (divisor.high != __frcp_rn(d)) atomicAdd(&result->different, 1ULL);
    std::uint32_t random = i;
    for (int n = 0; n < 512; ++n) {
      random = random * 1664525U + 1013904223U;
      const float x = d * number_of(random >> 9, random * 0x85EBCA6BU, 40);
      if (divisor.quotient(x) == x / d) continue;
      atomicAdd(&result->different, 1ULL);
      atomicMax(&result->example, static_cast<unsigned long long>(i) + 1);
    }
  }
}

}  // namespace

void compare_divisions(SweepResult* result, const Place& place) {
  divisions_kernel<<<kBlocks, kThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(result);
  check_launch("sweep");
}

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
