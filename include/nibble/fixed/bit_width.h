// SPDX-License-Identifier: Apache-2.0
// How many bits a magnitude needs: the shift that brings it down to 1.
#pragma once

#include <bit>
#include <cstdint>

#include "nibble/core/host_device.h"

namespace nibble {

// 0 for m <= 1, otherwise the bit length of m - 1 (ceil(log2 m)): 2^7 needs 7 bits, 2^7 + 1
// needs 8.
NIBBLE_HOST_DEVICE constexpr int bits_of(std::uint64_t magnitude) {
#ifdef __CUDA_ARCH__
  return magnitude <= 1 ? 0 : 64 - __clzll(static_cast<long long>(magnitude - 1));
#else
  return magnitude <= 1 ? 0 : static_cast<int>(std::bit_width(magnitude - 1));
#endif
}

}  // namespace nibble
