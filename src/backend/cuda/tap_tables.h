// SPDX-License-Identifier: Apache-2.0
// Which pixel meets which tap, as kernels read it: [pixel of the result][tap] is the pixel of the
// source, or -1.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cpu/tap_map.h"

namespace nibble::cuda {

inline std::vector<std::int32_t> tap_table(const TapMap& meetings, std::int64_t taps) {
  std::vector<std::int32_t> table(static_cast<std::size_t>(meetings.pixels() * taps), -1);
  for (std::int64_t pixel = 0; pixel < meetings.pixels(); ++pixel) {
    for (const TapSource& each : meetings.of(pixel))
      table[static_cast<std::size_t>(pixel * taps + each.tap)] = each.source;
  }
  return table;
}

}  // namespace nibble::cuda
