// SPDX-License-Identifier: Apache-2.0
// Products by mma.sync m16n8k32 and, of halves of bytes, m16n8k64.
#include "backend/cuda/mma_engine.cuh"

namespace nibble::cuda {
namespace {

struct Bytes {
  static constexpr std::uint32_t kChunks = 2;

  static __device__ __forceinline__ void add(std::int32_t (&sums)[4], const std::uint32_t (&a)[4],
                                             std::uint32_t b0, std::uint32_t b1) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
  }
};

struct Halves {
  static constexpr std::uint32_t kChunks = 4;

  static __device__ __forceinline__ void add(std::int32_t (&sums)[4], const std::uint32_t (&a)[4],
                                             std::uint32_t b0, std::uint32_t b1) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k64.row.col.s32.u4.s4.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
  }
};

// 128 columns, or 32.
template <class Products, class Job, class... More>
void queue_by_width(DeviceQueue& queue, const Job& job, More... more) {
  if (tile_of(ProductPath::mma, job.shape).columns == kNarrowColumns)
    return queue_on<MmaEngine<Products, 1, 1, 4>>(queue, job, more...);
  queue_on<MmaEngine<Products, 4, 4, 4>>(queue, job, more...);
}

}  // namespace

void queue_mma(DeviceQueue& queue, const RoundedProduct& job) {
  queue_by_width<Bytes>(queue, job);
}
void queue_mma(DeviceQueue& queue, const NormedProduct& job) {
  queue_by_width<Bytes>(queue, job);
}
void queue_mma(DeviceQueue& queue, const FinishedProduct& job) {
  job.has_halves != 0 ? queue_by_width<Halves>(queue, job) : queue_by_width<Bytes>(queue, job);
}
void queue_mma(DeviceQueue& queue, const SummedProduct& job, bool is_wide, std::uint32_t planes) {
  queue_by_width<Bytes>(queue, job, is_wide, planes);
}

}  // namespace nibble::cuda
