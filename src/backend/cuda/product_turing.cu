// SPDX-License-Identifier: Apache-2.0
// Products by mma.sync m8n8k16 and, of halves of bytes, m8n8k32: the tensor cores of Turing, in
// tiles for GPUs with 64 KiB of shared memory a block.
#include "backend/cuda/mma_engine.cuh"

namespace nibble::cuda {
namespace {

// 16 rows by 8 columns in four steps of 8 by 8.
template <class Eight>
struct InEights {
  static constexpr std::uint32_t kChunks = Eight::kChunks;

  static __device__ __forceinline__ void add(std::int32_t (&sums)[4], const std::uint32_t (&a)[4],
                                             std::uint32_t b0, std::uint32_t b1) {
    Eight::add(sums[0], sums[1], a[0], b0);
    Eight::add(sums[2], sums[3], a[1], b0);
    Eight::add(sums[0], sums[1], a[2], b1);
    Eight::add(sums[2], sums[3], a[3], b1);
  }
};

struct Bytes {
  static constexpr std::uint32_t kChunks = 2;

  static __device__ __forceinline__ void add(std::int32_t& first, std::int32_t& second,
                                             std::uint32_t a, std::uint32_t b) {
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(first), "+r"(second)
                 : "r"(a), "r"(b));
  }
};

struct Halves {
  static constexpr std::uint32_t kChunks = 4;

  static __device__ __forceinline__ void add(std::int32_t& first, std::int32_t& second,
                                             std::uint32_t a, std::uint32_t b) {
    asm volatile("mma.sync.aligned.m8n8k32.row.col.s32.u4.s4.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(first), "+r"(second)
                 : "r"(a), "r"(b));
  }
};

using ByteEngine = MmaEngine<InEights<Bytes>, 4, 2, 2>;
using HalfEngine = MmaEngine<InEights<Halves>, 4, 2, 2>;
static_assert(product_bytes<ByteEngine>(true) <= 64 << 10);

}  // namespace

void queue_turing(DeviceQueue& queue, const RoundedProduct& job) {
  queue_on<ByteEngine>(queue, job);
}
void queue_turing(DeviceQueue& queue, const NormedProduct& job) {
  queue_on<ByteEngine>(queue, job);
}
void queue_turing(DeviceQueue& queue, const FinishedProduct& job) {
  job.has_halves != 0 ? queue_on<HalfEngine>(queue, job) : queue_on<ByteEngine>(queue, job);
}
void queue_turing(DeviceQueue& queue, const SummedProduct& job, bool is_wide,
                  std::uint32_t planes) {
  queue_on<ByteEngine>(queue, job, is_wide, planes);
}

}  // namespace nibble::cuda
