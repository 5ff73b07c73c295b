// SPDX-License-Identifier: Apache-2.0
// Products whose sums leave by the rescale law: the ending of networks that no longer learn.
#pragma once

#include "backend/cuda/product_tiles.cuh"
#include "backend/cuda/sum_finish.cuh"

namespace nibble::cuda {

template <class Engine>
__global__ void __launch_bounds__(Engine::kThreads, Engine::kBlocks)
    finished_product(const __grid_constant__ FinishedProduct job) {
  start_kernel();
  std::int8_t* stages = aligned_stages();
  auto* memory = reinterpret_cast<std::int32_t*>(stages + Engine::kStages * stage_bytes<Engine>());
  for_each_tile<Engine>(
      job.shape, stages, [&](Engine& engine, std::uint32_t first_row, std::uint32_t first_column) {
        engine.for_each_chunk_of_sums(
            memory, [&](std::uint32_t r, std::uint32_t c, const std::int32_t* sums) {
              const std::uint32_t row = first_row + r;
              const std::uint32_t column = first_column + c;
              if (row < job.shape.a.rows && column < job.finish.pitch)
                end_chunk(job.finish, row, column, sums);
            });
      });
}

template <class Engine>
void queue_on(DeviceQueue& queue, const FinishedProduct& job) {
  queue_product(queue, finished_product<Engine>, job, Engine::kThreads, product_bytes<Engine>(true),
                1);
}

}  // namespace nibble::cuda
