// SPDX-License-Identifier: Apache-2.0
// Zeros at either end of a word. nvcc compiles std::countr_zero and its kin for a GPU without a
// word, and what they give there is undefined.
#pragma once

#include <bit>
#include <cstdint>

#include "nibble/core/host_device.h"

namespace nibble::inline core {

// x is not 0.
NIBBLE_HOST_DEVICE inline int trailing_zeros(std::uint64_t x) {
#ifdef __CUDA_ARCH__
  return __ffsll(static_cast<long long>(x)) - 1;
#else
  return std::countr_zero(x);
#endif
}

NIBBLE_HOST_DEVICE inline int leading_zeros(std::uint64_t x) {
#ifdef __CUDA_ARCH__
  return __clzll(static_cast<long long>(x));
#else
  return std::countl_zero(x);
#endif
}

}  // namespace nibble::inline core
