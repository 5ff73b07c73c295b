// SPDX-License-Identifier: Apache-2.0
// Independent products of AMX tiles, enough of them to hide how long each takes.
#include <immintrin.h>

#include "kernels/products/peak.h"
#include "kernels/products/tile_shape.h"

namespace nibble::inline kernels::amx {

std::int64_t run_peak(std::int64_t rounds) {
  TileShapes shapes;
  for (int tile = 0; tile < 8; ++tile) shapes.set(tile, 16, 64);
  shapes.load();
  for (std::int64_t i = 0; i < rounds; ++i) {
    _tile_dpbssd(0, 6, 7);
    _tile_dpbssd(1, 6, 7);
    _tile_dpbssd(2, 6, 7);
    _tile_dpbssd(3, 6, 7);
    _tile_dpbssd(4, 6, 7);
    _tile_dpbssd(5, 6, 7);
  }
  return rounds * 6 * 16 * 16 * 64 * 2;
}

}  // namespace nibble::inline kernels::amx
