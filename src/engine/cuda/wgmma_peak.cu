// SPDX-License-Identifier: Apache-2.0
// Multiplies shared memory by wgmma in its largest tile, whose operands fit the way to tensor
// cores: 10 KiB in the 128 cycles that 64×256×32 products take.
#include "backend/cuda/wgmma.cuh"
#include "engine/cuda/device_peak.h"

namespace nibble::cuda {
namespace {

constexpr int kGroups = 2;  // of four warps: one multiplies while the other waits
constexpr int kPeakThreads = kGroups * 128;
constexpr std::uint32_t kLineBytes = 128;
constexpr std::uint32_t kRows = 64;
constexpr std::uint32_t kColumns = 256;
constexpr std::uint32_t kSteps = kLineBytes / 32;

__global__ void __launch_bounds__(kPeakThreads) multiply_shared(int rounds, std::int32_t* never) {
  __shared__ alignas(1024) std::int8_t memory[(kRows + kColumns) * kLineBytes];
  for (std::uint32_t i = threadIdx.x; i < sizeof memory; i += kPeakThreads)
    memory[i] = static_cast<std::int8_t>(i % 7);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
  const std::uint64_t rows = tile_descriptor(address);
  const std::uint64_t columns = tile_descriptor(address + kRows * kLineBytes);
  std::int32_t sums[8][4][4] = {};
  for (int round = 0; round < rounds; ++round) {
    begin_multiplying();
#pragma unroll
    for (std::uint64_t k = 0; k < kSteps; ++k)
      multiply_tiles(sums, rows + 2 * k, columns + 2 * k, true);
    end_multiplying();
    wait_for_products<1>();
  }
  wait_for_products<0>();
  std::int32_t all = 0;
  for (const auto& group : sums) {
    for (const auto& four : group) all += four[0] + four[1] + four[2] + four[3];
  }
  if (rounds < 0) *never = all;
}

void start(unsigned int blocks, int rounds) {
  multiply_shared<<<blocks, kPeakThreads>>>(rounds, nullptr);
}

}  // namespace

PeakLaunch wgmma_peak_launch() {
  return {.blocks = 1,
          .rounds = 5000,
          .operations = 2.0 * kGroups * kSteps * kRows * kColumns * 32,
          .start = start};
}

}  // namespace nibble::cuda
