// SPDX-License-Identifier: Apache-2.0
// Products whose copies bring 32 bytes of a pixel at a time.
#include "backend/cuda/staged_finish.cuh"

namespace nibble::cuda {
void queue_staged_finish_32(DeviceQueue& queue, const FinishedProduct& job) {
  if (job.tile_rows == 64 && job.tile_columns == 64) return queue_by_law<Tile64x64<32>>(queue, job);
  queue_by_law<Tile128x64<32>>(queue, job);
}

}  // namespace nibble::cuda
