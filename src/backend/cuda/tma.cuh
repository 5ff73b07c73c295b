// SPDX-License-Identifier: Apache-2.0
// Copies by the engine of Hopper (TMA), and the barriers in shared memory that count their bytes.
#pragma once

#include <cstdint>

#include "backend/cuda/tensor_map.h"

namespace nibble::cuda {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// Completes a phase when `count` threads arrived and all bytes that were promised are there.
struct CopyBarrier {
  std::uint64_t state;

  __device__ __forceinline__ std::uint32_t address() const { return shared_address(&state); }
  __device__ __forceinline__ void start(std::uint32_t count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(count) : "memory");
  }
  __device__ __forceinline__ void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
  }
  __device__ __forceinline__ void arrive_and_expect(std::uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()),
                 "r"(bytes)
                 : "memory");
  }
  // For the phase of this parity to end.
  __device__ __forceinline__ void wait(std::uint32_t parity) const {
    asm volatile(
        "{\n.reg .pred p;\n"
        "again:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
        "@p bra done;\nbra again;\ndone:\n}\n" ::"r"(address()),
        "r"(parity)
        : "memory");
  }
};

// Barriers that were started are seen by the copy engine.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void prefetch(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Places of one tap, from pixel (x, y) of picture n on: `tap_x`, `tap_y` further.
__device__ __forceinline__ void copy_windows(const TensorMap& map, CopyBarrier& barrier, void* to,
                                             std::int32_t channel, std::int32_t x, std::int32_t y,
                                             std::int32_t n, std::uint16_t tap_x,
                                             std::uint16_t tap_y) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(shared_address(to)),
      "l"(&map), "r"(barrier.address()), "r"(channel), "r"(x), "r"(y), "r"(n), "h"(tap_x),
      "h"(tap_y)
      : "memory");
}
__device__ __forceinline__ void copy_box(const TensorMap& map, CopyBarrier& barrier, void* to,
                                         std::int32_t a, std::int32_t b) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4}], [%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(barrier.address()), "r"(a), "r"(b)
      : "memory");
}
__device__ __forceinline__ void copy_box(const TensorMap& map, CopyBarrier& barrier, void* to,
                                         std::int32_t a, std::int32_t b, std::int32_t c) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(barrier.address()), "r"(a), "r"(b), "r"(c)
      : "memory");
}
__device__ __forceinline__ void copy_box(const TensorMap& map, CopyBarrier& barrier, void* to,
                                         std::int32_t a, std::int32_t b, std::int32_t c,
                                         std::int32_t d) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(barrier.address()), "r"(a), "r"(b), "r"(c), "r"(d)
      : "memory");
}
__device__ __forceinline__ void copy_box(const TensorMap& map, CopyBarrier& barrier, void* to,
                                         std::int32_t a, std::int32_t b, std::int32_t c,
                                         std::int32_t d, std::int32_t e) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(barrier.address()), "r"(a), "r"(b), "r"(c), "r"(d), "r"(e)
      : "memory");
}

// Adds sums of 32 bits in shared memory to a box of the tensor.
__device__ __forceinline__ void add_box(const TensorMap& map, const void* from, std::int32_t a,
                                        std::int32_t b, std::int32_t c) {
  asm volatile(
      "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3, %4}], "
      "[%1];" ::"l"(&map),
      "r"(shared_address(from)), "r"(a), "r"(b), "r"(c)
      : "memory");
}

}  // namespace nibble::cuda
