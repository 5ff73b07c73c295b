// SPDX-License-Identifier: Apache-2.0
// Products whose sums leave by the rescale law: the ending of networks that no longer learn.
#pragma once

#include "backend/cuda/product_tiles.cuh"
#include "backend/cuda/sum_finish.cuh"

namespace nibble::cuda {

// Of one tile. Number is what products of the law fit in.
template <class Number>
struct FinishEnding {
  const FinishedProduct& job;
  std::uint32_t first_row;
  std::uint32_t first_column;

  __device__ __forceinline__ FinishColumns columns(std::uint32_t c) const {
    // Beyond the last column nothing is stored: any other is as good.
    const std::uint32_t column = first_column + c;
    return {job.finish, column < job.finish.pitch ? column : 0};
  }
  __device__ __forceinline__ void end(const FinishColumns& columns, std::uint32_t r,
                                      std::uint32_t c, const int4& sums) const {
    const std::uint32_t row = first_row + r;
    const std::uint32_t column = first_column + c;
    if (row < job.shape.a.rows && column < job.finish.pitch)
      end_quad<Number>(job.finish, columns, row, column, Quad::of(sums));
  }
};

template <class Engine, class Number>
__global__ void __launch_bounds__(Engine::kThreads, Engine::kBlocks)
    finished_product(const __grid_constant__ FinishedProduct job) {
  start_kernel();
  std::int8_t* stages = aligned_stages();
  auto* memory = reinterpret_cast<std::int32_t*>(stages + Engine::kStages * stage_bytes<Engine>());
  for_each_tile<Engine>(
      job.shape, stages, [&](Engine& engine, std::uint32_t first_row, std::uint32_t first_column) {
        engine.for_each_quad_of_sums(memory, FinishEnding<Number>{job, first_row, first_column});
      });
}

template <class Engine>
void queue_on(DeviceQueue& queue, const FinishedProduct& job) {
  queue_product(queue,
                job.finish.is_wide != 0 ? finished_product<Engine, std::int64_t>
                                        : finished_product<Engine, std::int32_t>,
                job, Engine::kThreads, product_bytes<Engine>(true), 1);
}

}  // namespace nibble::cuda
