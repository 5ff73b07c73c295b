// SPDX-License-Identifier: Apache-2.0
// Products by mma.sync m16n8k32 on tensor cores.
#include "backend/cuda/fragments.cuh"
#include "backend/cuda/product_finish.cuh"
#include "backend/cuda/product_tiles.cuh"

namespace nibble::cuda {
namespace {

// Four 8 by 16-byte matrices; each lane names one line of one of them.
__device__ __forceinline__ void load_matrices(std::uint32_t (&to)[4], const std::int8_t* line) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(line)));
}

__device__ __forceinline__ void multiply(std::int32_t (&sums)[4], const std::uint32_t (&a)[4],
                                         std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Eight warps, each of so many blocks of 16 rows by 32 columns: 128 rows by 128 columns, or, where
// most of those would be empty, by 32.
template <int kBlocksOfRows>
struct MmaEngine {
  static constexpr std::uint32_t kWarpRows = 16 * kBlocksOfRows;
  static constexpr std::uint32_t kRows = 128;
  static constexpr std::uint32_t kColumns = 8 * 32 * kWarpRows / kRows;
  static constexpr int kThreads = 256;
  static constexpr int kBlocks = kColumns == kNarrowColumns ? 2 : 1;
  static constexpr int kStages = 4;
  static constexpr int kAhead = 3;
  static constexpr std::uint32_t kResultBytes = 8 * WarpSlab::kWords * 4;

  static __device__ __forceinline__ void publish() {}

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int m = 0; m < kBlocksOfRows; ++m) {
#pragma unroll
      for (int n = 0; n < 4; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[m][n][i] = 0;
      }
    }
  }
  __device__ __forceinline__ void issue(const std::int8_t* rows, const std::int8_t* columns) {
    a = rows;
    b = columns;
  }
  __device__ __forceinline__ void settle() {
    const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (std::uint32_t chunk = 0; chunk < kDepthChunks; chunk += 2) {
      std::uint32_t row[kBlocksOfRows][4];
      std::uint32_t column[2][4];
#pragma unroll
      for (int m = 0; m < kBlocksOfRows; ++m)
        load_matrices(row[m], a + swizzled(first_row() + m * 16 + lane % 16, chunk + lane / 16));
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        const std::uint32_t line = first_column() + n * 16 + lane / 16 * 8 + lane % 8;
        load_matrices(column[n], b + swizzled(line, chunk + lane / 8 % 2));
      }
#pragma unroll
      for (int m = 0; m < kBlocksOfRows; ++m) {
#pragma unroll
        for (int n = 0; n < 4; ++n)
          multiply(sums[m][n], row[m], column[n / 2][n % 2 * 2], column[n / 2][n % 2 * 2 + 1]);
      }
    }
  }
  __device__ __forceinline__ void finish() {}

  template <class Body>
  __device__ __forceinline__ void for_each_sum(const Body& body) const {
#pragma unroll
    for (int m = 0; m < kBlocksOfRows; ++m) {
#pragma unroll
      for (int n = 0; n < 4; ++n)
        for_each_of_fragment(sums[m][n], first_row() + m * 16, first_column() + n * 8, body);
    }
  }
  template <class Body>
  __device__ __forceinline__ void for_each_chunk_of_sums(std::int32_t* memory,
                                                         const Body& body) const {
#pragma unroll
    for (int m = 0; m < kBlocksOfRows; ++m)
      WarpSlab::pass(memory, sums[m], first_row() + m * 16, first_column(), body);
  }
  template <class Ending>
  __device__ __forceinline__ void for_each_quad_of_sums(std::int32_t* memory,
                                                        const Ending& ending) const {
#pragma unroll
    for (int m = 0; m < kBlocksOfRows; ++m)
      WarpSlab::pass_quads(memory, sums[m], first_row() + m * 16, first_column(), ending);
  }

  static __device__ __forceinline__ std::uint32_t first_row() {
    return threadIdx.x / kColumns * kWarpRows;
  }
  static __device__ __forceinline__ std::uint32_t first_column() {
    return threadIdx.x % kColumns / 32 * 32;
  }

  std::int32_t sums[kBlocksOfRows][4][4];
  const std::int8_t* a;
  const std::int8_t* b;
};

template <class Job, class... More>
void queue_by_width(DeviceQueue& queue, const Job& job, More... more) {
  if (job.shape.columns <= kNarrowColumns) return queue_on<MmaEngine<1>>(queue, job, more...);
  queue_on<MmaEngine<4>>(queue, job, more...);
}

}  // namespace

void queue_mma(DeviceQueue& queue, const RoundedProduct& job) {
  queue_by_width(queue, job);
}
void queue_mma(DeviceQueue& queue, const NormedProduct& job) {
  queue_by_width(queue, job);
}
void queue_mma(DeviceQueue& queue, const FinishedProduct& job) {
  queue_by_width(queue, job);
}
void queue_mma(DeviceQueue& queue, const SummedProduct& job, bool is_wide, std::uint32_t planes) {
  queue_by_width(queue, job, is_wide, planes);
}

}  // namespace nibble::cuda
