// SPDX-License-Identifier: Apache-2.0
// Codes of four neighbouring elements to memory and back.
#pragma once

#include "kernels/quantize/cuda/round.h"
#include "kernels/quantize/cuda/values.cuh"

namespace nibble::cuda {

// Four codes in fields of kBits: one word of bytes, or two of halves.
template <int kBits>
struct FieldWords {
  static constexpr int kWords = kBits / 8;
  static constexpr int kPerWord = kVector / kWords;
  static constexpr std::uint32_t kField = 0xFFFFFFFFU >> (32 - kBits);
  std::uint32_t words[kWords];

  __device__ __forceinline__ std::uint32_t field(int e) const {
    return words[e / kPerWord] >> kBits * (e % kPerWord) & kField;
  }
  __device__ __forceinline__ void set_field(int e, std::uint32_t code) {
    const int at = kBits * (e % kPerWord);
    words[e / kPerWord] = words[e / kPerWord] & ~(kField << at) | code << at;
  }
};

// Not packed.
__device__ __forceinline__ void store_code(const CodeJob& to, std::int64_t i, std::uint32_t code) {
  switch (to.type) {
    case DType::u8:
      static_cast<std::uint8_t*>(to.codes)[i] = static_cast<std::uint8_t>(code);
      break;
    case DType::u16:
      static_cast<std::uint16_t*>(to.codes)[i] = static_cast<std::uint16_t>(code);
      break;
    default:
      static_cast<std::uint32_t*>(to.codes)[i] = code;
      break;
  }
}

static __device__ __noinline__ void store_codes_piecewise(const CodeJob& to, std::int64_t first,
                                                          std::int64_t count, uint4 v) {
  const std::uint32_t codes[kVector] = {v.x, v.y, v.z, v.w};
  if (!to.packs_nibbles) {
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      if (first + e < count) store_code(to, first + e, codes[e]);
    }
    return;
  }
  // The last byte of an odd number of codes has an empty half.
  auto* bytes = static_cast<std::uint8_t*>(to.codes) + first / 2;
#pragma unroll
  for (int b = 0; b < 2; ++b) {
    const std::uint32_t high = first + 2 * b + 1 < count ? codes[2 * b + 1] : 0;
    if (first + 2 * b < count) bytes[b] = static_cast<std::uint8_t>(codes[2 * b] | high << 4);
  }
}

__device__ __forceinline__ void store_codes(const CodeJob& to, std::int64_t first,
                                            std::int64_t count, bool is_whole,
                                            const std::uint32_t (&codes)[kVector]) {
  if (!is_whole || !to.is_aligned) {
    store_codes_piecewise(to, first, count, make_uint4(codes[0], codes[1], codes[2], codes[3]));
  } else if (to.packs_nibbles) {
    *reinterpret_cast<std::uint16_t*>(static_cast<std::uint8_t*>(to.codes) + first / 2) =
        static_cast<std::uint16_t>(codes[0] | codes[1] << 4 | codes[2] << 8 | codes[3] << 12);
  } else if (to.type == DType::u8) {
    *reinterpret_cast<std::uint32_t*>(static_cast<std::uint8_t*>(to.codes) + first) =
        codes[0] | codes[1] << 8 | codes[2] << 16 | codes[3] << 24;
  } else if (to.type == DType::u16) {
    store_8_bytes(static_cast<std::uint16_t*>(to.codes) + first,
                  make_uint2(codes[0] | codes[1] << 16, codes[2] | codes[3] << 16));
  } else {
    store_16_bytes(static_cast<std::uint32_t*>(to.codes) + first,
                   make_uint4(codes[0], codes[1], codes[2], codes[3]));
  }
}

__device__ __forceinline__ void load_codes(const CodeJob& from, std::int64_t first,
                                           std::int64_t count, bool is_whole,
                                           std::uint32_t (&codes)[kVector]) {
  const auto* bytes = static_cast<const std::uint8_t*>(from.codes);
  if (from.packs_nibbles) {
    std::uint32_t word = 0;
    if (from.is_aligned && is_whole) {
      word = *reinterpret_cast<const std::uint16_t*>(bytes + first / 2);
    } else {
      if (first < count) word = bytes[first / 2];
      if (first + 2 < count) word |= std::uint32_t{bytes[first / 2 + 1]} << 8;
    }
#pragma unroll
    for (int e = 0; e < kVector; ++e) codes[e] = word >> 4 * e & 0xFU;
    return;
  }
  if (from.is_aligned && from.type == DType::u8 && is_whole) {
    const std::uint32_t word = *reinterpret_cast<const std::uint32_t*>(bytes + first);
#pragma unroll
    for (int e = 0; e < kVector; ++e) codes[e] = word >> 8 * e & 0xFFU;
    return;
  }
#pragma unroll
  for (int e = 0; e < kVector; ++e) {
    codes[e] = 0;
    if (first + e >= count) continue;
    codes[e] = from.type == DType::u8    ? bytes[first + e]
               : from.type == DType::u16 ? static_cast<const std::uint16_t*>(from.codes)[first + e]
                                         : static_cast<const std::uint32_t*>(from.codes)[first + e];
  }
}

}  // namespace nibble::cuda
