// SPDX-License-Identifier: Apache-2.0
// Multiplies registers for some milliseconds.
#include "engine/cuda/device_peak.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cuda/errors.h"
#include "nibble/cuda/device.h"

namespace nibble::cuda {
namespace {

constexpr int kIndependent = 8;  // products of a warp that do not wait for one another
constexpr int kPeakThreads = 256;

// What a warp multiplies at once, and how many operations that is.
struct Dp4aProduct {
  static constexpr double kOperations = 4 * 2.0 * 4 * 32;
  static __device__ __forceinline__ void add(std::int32_t (&sums)[4], std::uint32_t a) {
#pragma unroll
    for (std::int32_t& sum : sums)
      asm volatile("dp4a.s32.s32 %0, %1, %1, %0;" : "+r"(sum) : "r"(a));
  }
};
struct TuringProduct {
  static constexpr double kOperations = 2 * 2.0 * 8 * 8 * 16;
  static __device__ __forceinline__ void add(std::int32_t (&sums)[4], std::uint32_t a) {
#if __CUDA_ARCH__ >= 750
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%2}, {%0, %1};"
                   : "+r"(sums[i]), "+r"(sums[i + 1])
                   : "r"(a));
    }
#endif
  }
};
struct MmaProduct {
  static constexpr double kOperations = 2.0 * 16 * 8 * 32;
  static __device__ __forceinline__ void add(std::int32_t (&sums)[4], std::uint32_t a) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, "
        "{%4, %4}, {%0, %1, %2, %3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(a));
#endif
  }
};

template <class Product>
__global__ void __launch_bounds__(kPeakThreads)
    multiply_registers(int rounds, std::int32_t* never) {
  std::int32_t sums[kIndependent][4] = {};
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (auto& four : sums) Product::add(four, threadIdx.x);
  }
  std::int32_t all = 0;  // a product that nobody looks at would not be computed
  for (const auto& four : sums) all += four[0] + four[1] + four[2] + four[3];
  if (rounds < 0) *never = all;
}

template <class Product>
void start_registers(unsigned int blocks, int rounds) {
  multiply_registers<Product><<<blocks, kPeakThreads>>>(rounds, nullptr);
}

template <class Product>
PeakLaunch register_launch() {
  return {.blocks = 4,
          .rounds = 20000,
          .operations = kIndependent * (kPeakThreads / 32) * Product::kOperations,
          .start = start_registers<Product>};
}

PeakLaunch launch_of(ProductPath path) {
  switch (path) {
    case ProductPath::dp4a:
      return register_launch<Dp4aProduct>();
    case ProductPath::turing:
      return register_launch<TuringProduct>();
    case ProductPath::mma:
      return register_launch<MmaProduct>();
    case ProductPath::wgmma:
      break;
  }
  return wgmma_peak_launch();
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

double int8_peak(int device, ProductPath path) {
  const DeviceGuard guard(Place{.device = device});
  const PeakLaunch launch = launch_of(path);
  const auto blocks = static_cast<unsigned int>(multiprocessors(device) * launch.blocks);
  const double seconds = least_seconds([&] {
    launch.start(blocks, launch.rounds);
    check_launch("cuda");
  });
  return launch.operations * launch.rounds * blocks / seconds;
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
