// SPDX-License-Identifier: Apache-2.0
// Codes of any width one after another, on the device.
#include "kernels/quantize/cuda/pack.h"
#include "kernels/quantize/cuda/round.cuh"

namespace nibble::cuda {
namespace {

constexpr int kGroup = 8;  // codes of `bits` bits fill `bits` bytes

__device__ __forceinline__ std::uint32_t code_at(const void* codes, DType type, std::int64_t i) {
  switch (type) {
    case DType::u8:
      return static_cast<const std::uint8_t*>(codes)[i];
    case DType::u16:
      return static_cast<const std::uint16_t*>(codes)[i];
    default:
      return static_cast<const std::uint32_t*>(codes)[i];
  }
}

__global__ void __launch_bounds__(kThreads)
    pack_kernel(const void* codes, DType type, int bits, std::int64_t count, std::uint8_t* packed) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads * kGroup;
  for (std::int64_t first = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * kGroup;
       first < count; first += step) {
    std::uint8_t* to = packed + first / kGroup * bits;
    std::uint64_t window = 0;
    int filled = 0;
    for (std::int64_t i = first; i < first + kGroup && i < count; ++i) {
      window |= std::uint64_t{code_at(codes, type, i)} << filled;
      for (filled += bits; filled >= 8; filled -= 8, window >>= 8) {
        *to++ = static_cast<std::uint8_t>(window);
      }
    }
    if (filled > 0) *to = static_cast<std::uint8_t>(window);
  }
}

__global__ void __launch_bounds__(kThreads)
    unpack_kernel(const std::uint8_t* packed, int bits, std::int64_t count, CodeJob codes) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += step) {
    const std::int64_t first = i * bits;
    std::uint64_t window = 0;
    for (std::int64_t byte = first / 8; byte * 8 < first + bits; ++byte) {
      window |= std::uint64_t{packed[byte]} << 8 * (byte - first / 8);
    }
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    store_code(codes, i, static_cast<std::uint32_t>(window >> first % 8 & mask));
  }
}

}  // namespace

void pack_codes(const void* codes, DType type, int bits, std::int64_t count, void* packed,
                const Place& place) {
  const std::int64_t threads = (count + kGroup - 1) / kGroup;
  pack_kernel<<<blocks_for((threads + kThreads - 1) / kThreads, place), kThreads, 0,
                static_cast<cudaStream_t>(place.stream)>>>(codes, type, bits, count,
                                                           static_cast<std::uint8_t*>(packed));
  check_launch("pack");
}

void unpack_codes(const void* packed, int bits, std::int64_t count, void* codes, DType type,
                  const Place& place) {
  CodeJob job;
  job.codes = codes;
  job.type = type;
  unpack_kernel<<<blocks_for((count + kThreads - 1) / kThreads, place), kThreads, 0,
                  static_cast<cudaStream_t>(place.stream)>>>(
      static_cast<const std::uint8_t*>(packed), bits, count, job);
  check_launch("unpack");
}

}  // namespace nibble::cuda
