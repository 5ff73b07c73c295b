// SPDX-License-Identifier: Apache-2.0
// Products whose operands the copy engine brings: what their kernels share.
#pragma once

#include "backend/cuda/kernel_start.cuh"
#include "backend/cuda/product.h"
#include "backend/cuda/staged_tile.cuh"

namespace nibble::cuda {

// Tensor maps begin at multiples of 64 bytes.
template <class Job>
struct alignas(64) StagedJob {
  TensorMap rows;
  TensorMap columns;
  Job job;
  std::uint8_t unused[64 - sizeof(Job) % 64];
};

extern __shared__ std::int8_t staged_memory[];

// body(first row, first column) of every tile of this team.
template <class Tile, class Body>
__device__ __forceinline__ void for_each_tile_of(const ProductShape& shape, const Body& body) {
#pragma unroll 1
  for (std::uint32_t tile = blockIdx.x * Tile::Team::kTeams + Tile::team(); tile < shape.tiles;
       tile += gridDim.x * Tile::Team::kTeams) {
    const std::uint32_t row_tile = shape.column_tiles.quotient(tile);
    const std::uint32_t image = shape.bands.quotient(row_tile);
    body(image * shape.image_rows + shape.bands.remainder(row_tile, image) * shape.band_rows,
         shape.column_tiles.remainder(tile, row_tile) * Tile::kColumns);
  }
}

// How a kernel begins: what needs no other kernel's results is done before they are waited for.
template <class Tile, class Staged>
__device__ __forceinline__ StageMemory<Tile> begin_staged(const Staged& staged) {
  let_next_begin();
  if (threadIdx.x == Tile::kMultiplying) {
    prefetch(staged.rows);
    prefetch(staged.columns);
  }
  const StageMemory<Tile> memory(staged_memory);
  wait_for_earlier();
  return memory;
}

template <class Job>
StagedJob<Job> staged_job(const Job& job) {
  return {job.copies.rows, job.copies.columns, job, {}};
}

template <class Tile, class Staged>
void queue_staged(DeviceQueue& queue, void (*kernel)(Staged), const Staged& staged,
                  unsigned int blocks, unsigned int planes = 1) {
  blocks_of(reinterpret_cast<const void*>(kernel), Tile::kThreads, Tile::kBytes);
  queue.launch(
      kernel,
      {.blocks = blocks, .threads = Tile::kThreads, .shared_bytes = Tile::kBytes, .planes = planes},
      staged);
}

}  // namespace nibble::cuda
