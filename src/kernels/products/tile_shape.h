// SPDX-License-Identifier: Apache-2.0
// The shapes of AMX's tile registers, as the processor reads and writes them; for files of AMX.
#pragma once

#include <cstdint>

namespace nibble::inline kernels::amx {

struct alignas(64) TileShapes {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};

  void set(int tile, std::int64_t row_count, std::int64_t bytes) {
    rows[tile] = static_cast<std::uint8_t>(row_count);
    row_bytes[tile] = static_cast<std::uint16_t>(bytes);
  }

  // The operands name all 64 bytes, as g++ 12's own functions do not.
  void load() const { __asm__ volatile("ldtilecfg %0" : : "m"(*this)); }
  void store() { __asm__ volatile("sttilecfg %0" : "=m"(*this)); }
};
static_assert(sizeof(TileShapes) == 64);

}  // namespace nibble::inline kernels::amx
