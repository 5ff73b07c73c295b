// SPDX-License-Identifier: Apache-2.0
// Multiplies registers for some milliseconds.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cuda/errors.h"
#include "engine/cuda/device_peak.h"
#include "nibble/cuda/device.h"

namespace nibble::cuda {
namespace {

constexpr int kIndependent = 8;  // products of a warp that do not wait for one another
constexpr int kPeakThreads = 256;
constexpr int kBlocksOfOne = 4;  // of a multiprocessor
constexpr double kOperations = 2.0 * 16 * 8 * 32;

__global__ void __launch_bounds__(kPeakThreads)
    multiply_registers(int rounds, std::int32_t* never) {
#if __CUDA_ARCH__ >= 800
  std::int32_t sums[kIndependent][4] = {};
  const std::uint32_t a = threadIdx.x;
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < kIndependent; ++i) {
      asm volatile(
          "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, "
          "{%4, %4}, {%0, %1, %2, %3};"
          : "+r"(sums[i][0]), "+r"(sums[i][1]), "+r"(sums[i][2]), "+r"(sums[i][3])
          : "r"(a));
    }
  }
  std::int32_t all = 0;  // a product that nobody looks at would not be computed
  for (const auto& four : sums) all += four[0] + four[1] + four[2] + four[3];
  if (rounds < 0) *never = all;
#endif
}

// Of five times.
template <class Work>
double least_seconds(const Work& work) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check("cuda", cudaEventCreate(&begin));
  check("cuda", cudaEventCreate(&end));
  double least = 1e9;
  for (int i = 0; i < 5; ++i) {
    check("cuda", cudaEventRecord(begin));
    work();
    check("cuda", cudaEventRecord(end));
    check("cuda", cudaEventSynchronize(end));
    float milliseconds = 0;
    check("cuda", cudaEventElapsedTime(&milliseconds, begin, end));
    least = std::min(least, 1e-3 * static_cast<double>(milliseconds));
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return least;
}

}  // namespace

double int8_peak(int device) {
  const DeviceGuard guard(Place{.device = device});
  int major = 0;
  check("cuda", cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  if (major < 8) return 0;
  constexpr int kRounds = 20000;
  const auto blocks = static_cast<unsigned int>(multiprocessors(device) * kBlocksOfOne);
  const double seconds = least_seconds([&] {
    multiply_registers<<<blocks, kPeakThreads>>>(kRounds, nullptr);
    check_launch("cuda");
  });
  return double{kRounds} * kIndependent * blocks * (kPeakThreads / 32) * kOperations / seconds;
}

double copy_peak(int device) {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  const DeviceGuard guard(Place{.device = device});
  void* memory = nullptr;
  check("cuda", cudaMalloc(&memory, 2 * kBytes));
  auto* to = static_cast<std::byte*>(memory) + kBytes;
  const double seconds = least_seconds(
      [&] { check("cuda", cudaMemcpyAsync(to, memory, kBytes, cudaMemcpyDeviceToDevice)); });
  cudaFree(memory);
  return 2.0 * kBytes / seconds;
}

}  // namespace nibble::cuda
