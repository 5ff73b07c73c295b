// SPDX-License-Identifier: Apache-2.0
// Products by dp4a: four bytes of a row times four of a column.
#include "backend/cuda/product_finish.cuh"
#include "backend/cuda/product_tiles.cuh"

namespace nibble::cuda {
namespace {

struct Dp4aEngine {
  static constexpr std::uint32_t kRows = 64;
  static constexpr std::uint32_t kColumns = 64;
  static constexpr int kThreads = 256;
  static constexpr int kBlocks = 2;
  static constexpr int kStages = 2;
  static constexpr int kAhead = 1;
  static constexpr std::uint32_t kPitch = kColumns + 8;  // words
  static constexpr std::uint32_t kResultBytes = kRows * kPitch * 4;

  static __device__ __forceinline__ void publish() {}

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) sums[i][j] = 0;
    }
  }
  __device__ __forceinline__ void issue(const std::int8_t* rows, const std::int8_t* columns) {
    a = rows;
    b = columns;
  }
  // Thread (x, y) has rows y + 16·i and columns x + 16·j.
  __device__ __forceinline__ void settle() {
#pragma unroll 2
    for (std::uint32_t chunk = 0; chunk < kDepthChunks; ++chunk) {
      int4 row[4];
      int4 column[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        row[i] = *reinterpret_cast<const int4*>(a + swizzled(y() + 16 * i, chunk));
        column[i] = *reinterpret_cast<const int4*>(b + swizzled(x() + 16 * i, chunk));
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          sums[i][j] = __dp4a(row[i].x, column[j].x, sums[i][j]);
          sums[i][j] = __dp4a(row[i].y, column[j].y, sums[i][j]);
          sums[i][j] = __dp4a(row[i].z, column[j].z, sums[i][j]);
          sums[i][j] = __dp4a(row[i].w, column[j].w, sums[i][j]);
        }
      }
    }
  }
  __device__ __forceinline__ void finish() {}

  template <class Body>
  __device__ __forceinline__ void for_each_sum(const Body& body) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) body(y() + 16 * i, x() + 16 * j, sums[i][j]);
    }
  }

  template <class Body>
  __device__ __forceinline__ void for_each_chunk_of_sums(std::int32_t* memory,
                                                         const Body& body) const {
    for_each_sum(
        [&](std::uint32_t r, std::uint32_t c, std::int32_t sum) { memory[r * kPitch + c] = sum; });
    __syncthreads();
    const std::uint32_t r = threadIdx.x / 4;
    const std::uint32_t c = threadIdx.x % 4 * kChunk;
    body(r, c, memory + r * kPitch + c);
    __syncthreads();
  }
  template <class Ending>
  __device__ __forceinline__ void for_each_quad_of_sums(std::int32_t* memory,
                                                        const Ending& ending) const {
    for_each_sum(
        [&](std::uint32_t r, std::uint32_t c, std::int32_t sum) { memory[r * kPitch + c] = sum; });
    __syncthreads();
    const std::uint32_t c = x() * 4;
    const auto columns = ending.columns(c);
#pragma unroll
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t r = y() + 16 * i;
      ending.end(columns, r, c, *reinterpret_cast<const int4*>(memory + r * kPitch + c));
    }
    __syncthreads();
  }

  static __device__ __forceinline__ std::uint32_t x() {
    return threadIdx.x % 16;
  }
  static __device__ __forceinline__ std::uint32_t y() {
    return threadIdx.x / 16;
  }

  std::int32_t sums[4][4];
  const std::int8_t* a;
  const std::int8_t* b;
};

}  // namespace

void queue_dp4a(DeviceQueue& queue, const RoundedProduct& job) {
  queue_on<Dp4aEngine>(queue, job);
}
void queue_dp4a(DeviceQueue& queue, const NormedProduct& job) {
  queue_on<Dp4aEngine>(queue, job);
}
void queue_dp4a(DeviceQueue& queue, const FinishedProduct& job) {
  queue_on<Dp4aEngine>(queue, job);
}
void queue_dp4a(DeviceQueue& queue, const SummedProduct& job, bool is_wide, std::uint32_t planes) {
  queue_on<Dp4aEngine>(queue, job, is_wide, planes);
}

}  // namespace nibble::cuda
