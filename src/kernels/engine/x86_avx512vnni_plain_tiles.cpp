// SPDX-License-Identifier: Apache-2.0
// The kernel of matrices on tiles that are plain memory, for tests on machines without AMX.
#include <cstdlib>
#include <cstring>

#include "kernels/engine/test_plain_tiles.h"
#include "kernels/engine/x86_tile_matrix.h"

namespace nibble::inline kernels {
namespace {

constexpr int kMost = 16;  // rows: more would be a fault of the processor

struct PlainTile {
  int rows = 0;
  alignas(64) std::uint8_t bytes[kMost][64];
};
thread_local PlainTile tiles[8];

// As AMX defines its registers.
struct PlainTiles {
  static void shape(int pixels, int depth) {
    for (int t = 0; t < 8; ++t) {
      const int rows = t < 6 ? pixels : depth;
      if (rows < 1 || rows > kMost) std::abort();
      tiles[t].rows = rows;
      std::memset(tiles[t].bytes, 0, sizeof tiles[t].bytes);
    }
  }
  template <int T>
  static void load(const void* from, std::int64_t stride) {
    for (int r = 0; r < tiles[T].rows; ++r)
      std::memcpy(tiles[T].bytes[r], static_cast<const std::uint8_t*>(from) + r * stride, 64);
  }
  template <int T>
  static void store(void* to, std::int64_t stride) {
    for (int r = 0; r < tiles[T].rows; ++r)
      std::memcpy(static_cast<std::uint8_t*>(to) + r * stride, tiles[T].bytes[r], 64);
  }
  template <int Sums, int Values, int Weights>
  static void add_products() {
    for (int r = 0; r < tiles[Sums].rows; ++r) {
      auto* sums = reinterpret_cast<std::uint32_t*>(tiles[Sums].bytes[r]);
      for (int k = 0; k < 4 * tiles[Weights].rows; ++k) {
        const auto* weights = reinterpret_cast<const std::int8_t*>(tiles[Weights].bytes[k / 4]);
        for (int o = 0; o < 16; ++o)
          sums[o] += static_cast<std::uint32_t>(tiles[Values].bytes[r][k] * weights[o * 4 + k % 4]);
      }
    }
  }
};

}  // namespace

void multiply_on_plain_tiles(const FilterMatrix& matrix, const FilterTile& panel,
                             const RescaleTile& rescale) {
  TileMatrix<PlainTiles>(matrix, panel, rescale).multiply();
}

}  // namespace nibble::inline kernels
