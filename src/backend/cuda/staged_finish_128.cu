// SPDX-License-Identifier: Apache-2.0
// Products whose copies bring 128 bytes of a pixel at a time.
#include "backend/cuda/staged_finish.cuh"

namespace nibble::cuda {
namespace {

// One block a multiprocessor: less is read again. For the law that most products have.
using Tile128x256 = StagedTile<1, 256, 128>;
using Tile256x128 = StagedTile<2, 128, 128>;

}  // namespace

void queue_staged_finish_128(DeviceQueue& queue, const FinishedProduct& job) {
  if (job.tile_rows == 64 && job.tile_columns == 64)
    return queue_by_law<Tile64x64<128>>(queue, job);
  if (job.tile_rows == 128 && job.tile_columns == 64)
    return queue_by_law<Tile128x64<128>>(queue, job);
  if (job.tile_rows == 128 && job.tile_columns == 128)
    return queue_by_law<Tile128x128<128>>(queue, job);
  if (job.tile_rows == 128 && job.tile_columns == 256)
    return queue_added<Tile128x256, HalfReluLaw>(queue, job);
  queue_added<Tile256x128, HalfReluLaw>(queue, job);
}

}  // namespace nibble::cuda
