// SPDX-License-Identifier: Apache-2.0
// Products by wgmma on tensor cores of Hopper.
#include "backend/cuda/fragments.cuh"
#include "backend/cuda/product_finish.cuh"
#include "backend/cuda/product_tiles.cuh"
#include "backend/cuda/wgmma.cuh"

namespace nibble::cuda {
namespace {

// Two groups of four warps, each of kBlocksOfRows · 64 rows and all columns.
template <int kBlocksOfRows, int kWidth>
struct WgmmaEngine {
  static constexpr std::uint32_t kRows = 128 * kBlocksOfRows;
  static constexpr std::uint32_t kColumns = kWidth;
  static constexpr int kThreads = 256;
  static constexpr int kBlocks = 1;
  static constexpr int kStages = 4;
  static constexpr int kAhead = 2;  // products of the depth before may still read a stage
  static constexpr std::uint32_t kResultBytes = 8 * WarpSlab::kWords * 4;
  static constexpr int kGroups = kWidth / 32;

  // Copies are ordinary writes; tensor cores read by another way.
  static __device__ __forceinline__ void publish() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }

  __device__ __forceinline__ void clear() { adds = false; }
  __device__ __forceinline__ void issue(const std::int8_t* rows, const std::int8_t* columns) {
    const std::uint32_t group = threadIdx.x / 128;
    const std::uint64_t b = tile_descriptor(shared_address(columns));
    begin_multiplying();
#pragma unroll
    for (std::uint64_t k = 0; k < kDepthBytes / 32; ++k) {
#pragma unroll
      for (int m = 0; m < kBlocksOfRows; ++m) {
        const std::uint32_t line = (group * kBlocksOfRows + m) * 64;
        const std::uint64_t a = tile_descriptor(shared_address(rows) + line * kDepthBytes);
        multiply_tiles(sums[m], a + k * 2, b + k * 2, adds || k > 0);
      }
    }
    end_multiplying();
    adds = true;
  }
  __device__ __forceinline__ void settle() {
    wait_for_products<1>();
  }
  __device__ __forceinline__ void finish() {
    wait_for_products<0>();
  }

  template <class Body>
  __device__ __forceinline__ void for_each_sum(const Body& body) const {
#pragma unroll
    for (int m = 0; m < kBlocksOfRows; ++m) {
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
#pragma unroll
        for (int f = 0; f < 4; ++f)
          for_each_of_fragment(sums[m][g][f], first_row(m), g * 32 + f * 8, body);
      }
    }
  }
  template <class Body>
  __device__ __forceinline__ void for_each_chunk_of_sums(std::int32_t* memory,
                                                         const Body& body) const {
#pragma unroll
    for (int m = 0; m < kBlocksOfRows; ++m) {
#pragma unroll
      for (int g = 0; g < kGroups; ++g)
        WarpSlab::pass(memory, sums[m][g], first_row(m), g * 32, body);
    }
  }
  template <class Ending>
  __device__ __forceinline__ void for_each_quad_of_sums(std::int32_t* memory,
                                                        const Ending& ending) const {
#pragma unroll
    for (int m = 0; m < kBlocksOfRows; ++m) {
#pragma unroll
      for (int g = 0; g < kGroups; ++g)
        WarpSlab::pass_quads(memory, sums[m][g], first_row(m), g * 32, ending);
    }
  }

  // Of this warp.
  static __device__ __forceinline__ std::uint32_t first_row(int m) {
    return (threadIdx.x / 128 * kBlocksOfRows + m) * 64 + threadIdx.x / 32 % 4 * 16;
  }

  std::int32_t sums[kBlocksOfRows][kGroups][4][4];
  bool adds;
};

using WideEngine = WgmmaEngine<1, 256>;
using TallEngine = WgmmaEngine<2, 128>;

bool is_wide_tile(const ProductShape& shape) {
  return tile_of(ProductPath::wgmma, shape).columns == WideEngine::kColumns;
}

}  // namespace

void queue_wgmma(DeviceQueue& queue, const RoundedProduct& job) {
  if (is_wide_tile(job.shape)) return queue_on<WideEngine>(queue, job);
  queue_on<TallEngine>(queue, job);
}
void queue_wgmma(DeviceQueue& queue, const NormedProduct& job) {
  if (is_wide_tile(job.shape)) return queue_on<WideEngine>(queue, job);
  queue_on<TallEngine>(queue, job);
}
void queue_wgmma(DeviceQueue& queue, const FinishedProduct& job) {
  if (is_wide_tile(job.shape)) return queue_on<WideEngine>(queue, job);
  queue_on<TallEngine>(queue, job);
}
void queue_wgmma(DeviceQueue& queue, const SummedProduct& job, bool is_wide, std::uint32_t planes) {
  if (is_wide_tile(job.shape)) return queue_on<WideEngine>(queue, job, is_wide, planes);
  queue_on<TallEngine>(queue, job, is_wide, planes);
}

}  // namespace nibble::cuda
