// SPDX-License-Identifier: Apache-2.0
// How many thread blocks a kernel gets.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nibble/cuda/device.h"

namespace nibble::cuda {

inline constexpr int kThreads = 256;
inline constexpr int kAllBlocks = 1 << 20;  // a tile each
inline constexpr int kKeptBlocks = 32;      // that go on from tile to tile with what they prepared

inline unsigned blocks_for(std::int64_t pieces, const Place& place,
                           int blocks_per_multiprocessor = kAllBlocks) {
  const std::int64_t most = std::int64_t{multiprocessors(place.device)} * blocks_per_multiprocessor;
  return static_cast<unsigned>(std::min(pieces, most));
}

}  // namespace nibble::cuda
