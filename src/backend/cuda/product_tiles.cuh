// SPDX-License-Identifier: Apache-2.0
// The loop over tiles that all products share: rows are gathered into shared memory some depths
// ahead, an engine multiplies them, and an ending takes the sums. The copies of the next tile run
// while the sums of this one are rounded.
//
// A depth of a tile is 128 bytes of each of its rows. Chunk c of row r lies at chunk c ^ (r mod 8)
// of its line: the 128-byte swizzle of the tensor cores, without bank conflicts for the others.
//
// An engine has kRows, kColumns, kStages, kAhead (stages that are filled in advance), kThreads and
//   clear(); issue(a, b): begins a depth; settle(): ends it as far as the next ones need; finish();
//   publish(): makes copies visible to who multiplies; for_each_sum(body(row, column, sum));
//   for_each_chunk_of_sums(memory, body(row, column, 16 sums)) by way of kResultBytes of memory;
//   for_each_quad_of_sums(memory, ending), four columns of some rows a thread (fragments.cuh).
#pragma once

#include "backend/cuda/block_totals.cuh"
#include "backend/cuda/chunks.cuh"
#include "backend/cuda/device_params.h"
#include "backend/cuda/kernel_start.cuh"
#include "backend/cuda/normed_ending.cuh"
#include "backend/cuda/product.h"
#include "backend/cuda/rounded_ending.cuh"
#include "backend/cuda/tma.cuh"

namespace nibble::cuda {

inline constexpr std::uint32_t kDepthBytes = kDepthChunks * kChunk;

// Byte of (line, chunk) in a tile.
__device__ __forceinline__ std::uint32_t swizzled(std::uint32_t line, std::uint32_t chunk) {
  return line * kDepthBytes + ((chunk ^ (line % 8)) * kChunk);
}

// 16 bytes to shared memory, or zeros.
__device__ __forceinline__ void copy_chunk(std::int8_t* to, const std::int8_t* from,
                                           bool is_there) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(is_there ? 16 : 0)
               : "memory");
#else
  *reinterpret_cast<uint4*>(to) =
      is_there ? *reinterpret_cast<const uint4*>(from) : make_uint4(0, 0, 0, 0);
#endif
}
__device__ __forceinline__ void end_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int kLeft>
__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
#endif
}

// Copies depth after depth of tile after tile.
template <class Engine>
class LoadStream {
 public:
  __device__ explicit LoadStream(const ProductShape& shape) : shape_(shape) {
    start_tile(blockIdx.x);
  }

  __device__ __forceinline__ void load(std::int8_t* stage) {
    const bool is_inside = segment_ < shape_.segments;
    const std::uint32_t chunk = threadIdx.x % kDepthChunks;
    const std::uint32_t line = threadIdx.x / kDepthChunks;
    const std::size_t segment_bytes = std::size_t{shape_.segment_chunks.divisor} * kChunk;
#pragma unroll
    for (int i = 0; i < kRowsOfThread; ++i) {
      bool is_there = is_inside && rows_[i] != nullptr;
      std::int32_t place = 0;
      if (is_there) {
        place = __ldg(shape_.a.table + table_[i] +
                      static_cast<std::int32_t>(segment_) * shape_.a.table_s);
        is_there = place >= 0;
      }
      const std::int8_t* from =
          is_there ? rows_[i] + std::size_t{shape_.a.place_bytes} * place + within_ * kChunk
                   : shape_.a.data;
      copy_chunk(stage + swizzled(line + i * kLines, chunk), from, is_there);
    }
    const std::size_t offset = segment_ * segment_bytes + within_ * kChunk;
    const std::size_t column_bytes = segment_bytes * shape_.segments;
    std::int8_t* columns = stage + Engine::kRows * kDepthBytes;
#pragma unroll
    for (int i = 0; i < kColumnsOfThread; ++i) {
      const bool is_there = is_inside && column_ + i * kLines < shape_.columns;
      const std::int8_t* from =
          is_there ? shape_.b + (column_ + i * kLines) * column_bytes + offset : shape_.b;
      copy_chunk(columns + swizzled(line + i * kLines, chunk), from, is_there);
    }
    advance();
  }

 private:
  static constexpr int kLines = Engine::kThreads / kDepthChunks;  // at once
  static constexpr int kRowsOfThread = Engine::kRows / kLines;
  static constexpr int kColumnsOfThread = Engine::kColumns / kLines;

  __device__ void start_tile(std::uint32_t tile) {
    tile_ = tile;
    depths_left_ = shape_.depths;
    const std::uint32_t chunk =
        blockIdx.y * shape_.depths * kDepthChunks + threadIdx.x % kDepthChunks;
    segment_ = shape_.segment_chunks.quotient(chunk);
    within_ = shape_.segment_chunks.remainder(chunk, segment_);
    const std::uint32_t row_tile = shape_.column_tiles.quotient(tile);
    const std::uint32_t line = threadIdx.x / kDepthChunks;
    const std::uint32_t first_column =
        shape_.column_tiles.remainder(tile, row_tile) * Engine::kColumns;
    column_ = first_column + line;
    const std::int8_t* data = shape_.a.data + shape_.span.first(first_column) * shape_.span.step;
#pragma unroll
    for (int i = 0; i < kRowsOfThread; ++i) {
      const std::uint32_t row = row_tile * Engine::kRows + line + i * kLines;
      const std::uint32_t q = shape_.a.divisor.quotient(row);
      const std::uint32_t p = shape_.a.divisor.remainder(row, q);
      rows_[i] =
          row < shape_.a.rows ? data + q * shape_.a.q_stride + p * shape_.a.p_stride : nullptr;
      table_[i] = static_cast<std::int32_t>(q) * shape_.a.table_q +
                  static_cast<std::int32_t>(p) * shape_.a.table_p;
    }
  }

  __device__ __forceinline__ void advance() {
    if (--depths_left_ == 0) return start_tile(tile_ + gridDim.x);
    within_ += kDepthChunks;
    while (within_ >= shape_.segment_chunks.divisor) {
      within_ -= shape_.segment_chunks.divisor;
      ++segment_;
    }
  }

  const ProductShape& shape_;
  std::uint32_t tile_;
  std::uint32_t depths_left_;
  std::uint32_t segment_;
  std::uint32_t within_;  // chunk of the segment
  std::uint32_t column_;
  const std::int8_t* rows_[kRowsOfThread];  // null: below the last
  std::int32_t table_[kRowsOfThread];
};

template <class Engine>
constexpr std::uint32_t stage_bytes() {
  return (Engine::kRows + Engine::kColumns) * kDepthBytes;
}

// end_tile(engine, first row, first column) for every tile of this block.
template <class Engine, class EndTile>
__device__ __forceinline__ void for_each_tile(const ProductShape& shape, std::int8_t* stages,
                                              const EndTile& end_tile) {
  LoadStream<Engine> stream(shape);
  std::uint32_t left = 0;  // depths to load
  for (std::uint32_t tile = blockIdx.x; tile < shape.tiles; tile += gridDim.x) left += shape.depths;
  std::uint32_t filled = 0;  // the stage to fill next, and the one to read next
  std::uint32_t read = 0;
  const auto fill = [&] {
    if (left > 0) {
      stream.load(stages + filled * stage_bytes<Engine>());
      --left;
    }
    end_copies();
    filled = filled + 1 == Engine::kStages ? 0 : filled + 1;
  };
  for (int i = 0; i < Engine::kAhead; ++i) fill();
  Engine engine;
  for (std::uint32_t tile = blockIdx.x; tile < shape.tiles; tile += gridDim.x) {
    engine.clear();
    for (std::uint32_t depth = 0; depth < shape.depths; ++depth) {
      wait_for_copies<Engine::kAhead - 1>();
      Engine::publish();
      __syncthreads();
      std::int8_t* stage = stages + read * stage_bytes<Engine>();
      engine.issue(stage, stage + Engine::kRows * kDepthBytes);
      fill();
      engine.settle();
      read = read + 1 == Engine::kStages ? 0 : read + 1;
    }
    engine.finish();
    const std::uint32_t row_tile = shape.column_tiles.quotient(tile);
    end_tile(engine, row_tile * Engine::kRows,
             shape.column_tiles.remainder(tile, row_tile) * Engine::kColumns);
  }
}

// Stages begin where 1024 bytes do; sums on their way to results come behind them.
extern __shared__ std::int8_t product_memory[];
__device__ __forceinline__ std::int8_t* aligned_stages() {
  const std::uint32_t address = shared_address(product_memory);
  return product_memory + (((address + 1023) & ~1023u) - address);
}
template <class Engine>
constexpr std::uint32_t product_bytes(bool has_result) {
  return Engine::kStages * stage_bytes<Engine>() + 1024 + (has_result ? Engine::kResultBytes : 0);
}

template <class Engine>
__global__ void __launch_bounds__(Engine::kThreads, Engine::kBlocks)
    rounded_product(const __grid_constant__ RoundedProduct job) {
  start_kernel();
  RoundedEnding<> ending(job);
  if (ending.ends_early()) return;
  std::int8_t* stages = aligned_stages();
  auto* memory = reinterpret_cast<std::int32_t*>(stages + Engine::kStages * stage_bytes<Engine>());
  for_each_tile<Engine>(
      job.shape, stages, [&](Engine& engine, std::uint32_t first_row, std::uint32_t first_column) {
        engine.for_each_chunk_of_sums(
            memory, [&](std::uint32_t r, std::uint32_t c, const std::int32_t* sums) {
              const uint4 values = ending.values_at(first_row + r, first_column + c);
              ending.chunk(first_row + r, first_column + c, sums, values);
            });
      });
  ending.end();
}

template <class Engine>
__global__ void __launch_bounds__(Engine::kThreads, Engine::kBlocks)
    normed_product(const __grid_constant__ NormedProduct job) {
  start_kernel();
  std::int8_t* stages = aligned_stages();
  auto* memory = reinterpret_cast<std::int32_t*>(stages + Engine::kStages * stage_bytes<Engine>());
  const NormedEnding ending(job);
  for_each_tile<Engine>(
      job.shape, stages, [&](Engine& engine, std::uint32_t first_row, std::uint32_t first_column) {
        engine.for_each_chunk_of_sums(
            memory, [&](std::uint32_t r, std::uint32_t c, const std::int32_t* sums) {
              ending.chunk(first_row + r, first_column + c, [&](int i) { return sums[i]; });
            });
      });
  ending.end();
}

__device__ __forceinline__ void add_to(std::int32_t* sum, std::int32_t value) {
  atomicAdd(sum, value);
}
__device__ __forceinline__ void add_to(std::int64_t* sum, std::int32_t value) {
  atomic_add(reinterpret_cast<std::uint64_t*>(sum),
             static_cast<std::uint64_t>(std::int64_t{value}));
}

// Of a tile, where is_kept(row, column), which may name another row to add to.
template <class Sum, class Engine, class IsKept>
__device__ __forceinline__ void add_sums_of(const Engine& engine, const SummedProduct& job,
                                            std::uint32_t first_row, std::uint32_t first_column,
                                            const IsKept& is_kept) {
  engine.for_each_sum([&](std::uint32_t r, std::uint32_t c, std::int32_t sum) {
    std::uint32_t row = first_row + r;
    const std::uint32_t column = first_column + c;
    if (row < job.shape.a.rows && column < job.shape.columns && is_kept(row, column))
      add_to(static_cast<Sum*>(job.sums) + row * job.row_step + column * job.column_step, sum);
  });
}

template <class Engine, class Sum>
__global__ void __launch_bounds__(Engine::kThreads, Engine::kBlocks)
    summed_product(const __grid_constant__ SummedProduct job) {
  start_kernel();
  for_each_tile<Engine>(
      job.shape, aligned_stages(),
      [&](Engine& engine, std::uint32_t first_row, std::uint32_t first_column) {
        // Apart: sums of both kinds in one loop would take more registers than there are.
        if (job.keeps_groups == 0)
          return add_sums_of<Sum>(engine, job, first_row, first_column,
                                  [](std::uint32_t, std::uint32_t) { return true; });
        add_sums_of<Sum>(engine, job, first_row, first_column,
                         [&](std::uint32_t& row, std::uint32_t column) {
                           return job.shape.span.moves_to_group(job.shape.a.divisor, column, row);
                         });
      });
}

template <class Params>
void queue_product(DeviceQueue& queue, void (*kernel)(Params), const Params& job,
                   unsigned int threads, unsigned int bytes, unsigned int planes) {
  const unsigned int most = (queue.multiprocessors() + planes - 1) / planes *
                            blocks_of(reinterpret_cast<const void*>(kernel), threads, bytes);
  const unsigned int tiles = job.shape.tiles;
  queue.launch(kernel,
               {.blocks = tiles < 1 ? 1 : (tiles < most ? tiles : most),
                .threads = threads,
                .shared_bytes = bytes,
                .planes = planes},
               job);
}

template <class Engine>
void queue_on(DeviceQueue& queue, const RoundedProduct& job) {
  queue_product(queue, rounded_product<Engine>, job, Engine::kThreads, product_bytes<Engine>(true),
                1);
}
template <class Engine>
void queue_on(DeviceQueue& queue, const NormedProduct& job) {
  queue_product(queue, normed_product<Engine>, job, Engine::kThreads, product_bytes<Engine>(true),
                1);
}
template <class Engine>
void queue_on(DeviceQueue& queue, const SummedProduct& job, bool is_wide, std::uint32_t planes) {
  queue_product(
      queue, is_wide ? summed_product<Engine, std::int64_t> : summed_product<Engine, std::int32_t>,
      job, Engine::kThreads, product_bytes<Engine>(false), planes);
}

}  // namespace nibble::cuda
