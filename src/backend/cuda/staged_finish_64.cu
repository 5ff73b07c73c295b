// SPDX-License-Identifier: Apache-2.0
// Products whose copies bring 64 bytes of a pixel at a time.
#include "backend/cuda/staged_finish.cuh"

namespace nibble::cuda {
void queue_staged_finish_64(DeviceQueue& queue, const FinishedProduct& job) {
  if (job.tile_rows == 64 && job.tile_columns == 64) return queue_by_law<Tile64x64<64>>(queue, job);
  if (job.tile_rows == 128 && job.tile_columns == 64)
    return queue_by_law<Tile128x64<64>>(queue, job);
  queue_by_law<Tile128x128<64>>(queue, job);
}

}  // namespace nibble::cuda
