// SPDX-License-Identifier: Apache-2.0
// Gradients of weights: turned errors times turned inputs, images side by side, split along the
// pixels; tiles of sums are added to memory by the copy engine.
#include <algorithm>

#include "backend/cuda/staged_product.cuh"

namespace nibble::cuda {
namespace {

// Parts of errors and inputs, pixel after pixel of the errors.
template <class Tile>
class GradientParts {
 public:
  __device__ GradientParts(const GradientCopies& copies, const TensorMap& rows,
                           const TensorMap& columns, std::uint32_t first_row,
                           std::uint32_t first_column, std::uint32_t first_part)
      : copies_(copies), rows_(rows), columns_(columns), row_(first_row) {
    pixel_ = copies.segments.quotient(first_part);
    segment_ = copies.segments.remainder(first_part, pixel_);
    const std::uint32_t y = copies.width.quotient(pixel_);
    ox_ = copies.width.remainder(pixel_, y);
    y_ = copies.first[1] + static_cast<std::int32_t>(y) * copies.stride[1];
    x_ = copies.first[0] + static_cast<std::int32_t>(ox_) * copies.stride[0];
    first_block_ = first_column >> copies.block_bits;
  }

  __device__ __forceinline__ void part(std::int8_t* rows, std::int8_t* columns,
                                       CopyBarrier& barrier) {
    const auto image = static_cast<std::int32_t>(segment_ * Tile::kSegment);
    copy_box(rows_, barrier, rows, image, static_cast<std::int32_t>(row_),
             static_cast<std::int32_t>(pixel_));
    for (std::uint32_t i = 0; i < Tile::kColumns >> copies_.block_bits; ++i) {
      const std::uint32_t block = first_block_ + i;
      const std::uint32_t tap = copies_.blocks.quotient(block);
      // Behind the last block all is zero: no channel is so far.
      const std::uint32_t channel = block < copies_.all_blocks
                                        ? copies_.blocks.remainder(block, tap) << copies_.block_bits
                                        : copies_.channels;
      const std::uint32_t tap_y = copies_.taps_x.quotient(tap);
      const std::uint32_t tap_x = copies_.taps_x.remainder(tap, tap_y);
      copy_box(columns_, barrier, columns + (i << copies_.block_bits) * Tile::kSegment, image,
               static_cast<std::int32_t>(channel),
               x_ + static_cast<std::int32_t>(tap_x) * copies_.step[0],
               y_ + static_cast<std::int32_t>(tap_y) * copies_.step[1]);
    }
    if (++segment_ < copies_.segments.divisor) return;
    segment_ = 0;
    ++pixel_;
    x_ += copies_.stride[0];
    if (++ox_ < copies_.width.divisor) return;
    ox_ = 0;
    x_ = copies_.first[0];
    y_ += copies_.stride[1];
  }

 private:
  const GradientCopies& copies_;
  const TensorMap& rows_;
  const TensorMap& columns_;
  std::uint32_t row_;
  std::uint32_t first_block_;
  std::uint32_t pixel_;
  std::uint32_t segment_;
  std::uint32_t ox_;
  std::int32_t x_;
  std::int32_t y_;
};

__device__ __forceinline__ void add_bytes(std::int32_t* to, const void* from, std::uint32_t bytes) {
  asm volatile(
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;" ::"l"(to),
      "r"(shared_address(from)), "r"(bytes)
      : "memory");
}
__device__ __forceinline__ void add_bytes(std::int64_t* to, const void* from, std::uint32_t bytes) {
  asm volatile(
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%0], [%1], %2;" ::"l"(to),
      "r"(shared_address(from)), "r"(bytes)
      : "memory");
}

// 16 rows by 32 columns by way of this warp's slab. Sums of 32 bits go as boxes, of eight rows
// each, in lines of 128 bytes whose chunks are swizzled; what boxes do not reach, and sums of 64
// bits, line by line.
template <class Sum>
class SlabAdder {
 public:
  __device__ SlabAdder(std::int8_t* slab, const SummedProduct& job, const TensorMap& map)
      : slab_(slab), job_(job), map_(map), plane_(job.parts_of_plane.quotient(blockIdx.y)) {}

  __device__ __forceinline__ void add(std::uint32_t row, std::uint32_t column,
                                      const std::int32_t (&fragments)[4][4]) {
    if (sizeof(Sum) == 4 && job_.copies.has_sums != 0) {
      add_half(row, column, fragments, 0);
      add_half(row + 8, column, fragments, 1);
    } else {
      add_lines(row, column, fragments);
    }
  }

 private:
  static constexpr std::uint32_t kLine = 128;  // bytes
  static constexpr std::uint32_t kColumns = kLine / sizeof(Sum);
  static constexpr std::uint32_t kHalf = 8 * kLine;

  // Eight of the rows, while the others may be on their way.
  __device__ __forceinline__ void add_half(std::uint32_t row, std::uint32_t column,
                                           const std::int32_t (&fragments)[4][4], int half) const {
    std::int8_t* box = slab_ + half * kHalf;
    const std::uint32_t lane = threadIdx.x % 32;
    asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
    __syncwarp();
#pragma unroll
    for (std::uint32_t f = 0; f < 4; ++f) {
      const std::uint32_t chunk = (f * 2 + lane % 4 / 2) ^ (lane / 4);
      *reinterpret_cast<int2*>(box + lane / 4 * kLine + chunk * kChunk + lane % 2 * 8) =
          make_int2(fragments[f][2 * half], fragments[f][2 * half + 1]);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
    if (lane == 0) {
      add_box(map_, box, static_cast<std::int32_t>(column), static_cast<std::int32_t>(row),
              static_cast<std::int32_t>(plane_));
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
  }

  __device__ __forceinline__ void add_lines(std::uint32_t row, std::uint32_t column,
                                            const std::int32_t (&fragments)[4][4]) const {
    constexpr int kFragments = static_cast<int>(kColumns / 8);
#pragma unroll
    for (int f = 0; f < 4; f += kFragments) {
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
      __syncwarp();
      const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
      for (int i = 0; i < kFragments; ++i) {
        Sum* pair = reinterpret_cast<Sum*>(slab_ + lane / 4 * kLine) + i * 8 + lane % 4 * 2;
        pair[0] = fragments[f + i][0];
        pair[1] = fragments[f + i][1];
        Sum* lower = reinterpret_cast<Sum*>(reinterpret_cast<std::int8_t*>(pair) + 8 * kLine);
        lower[0] = fragments[f + i][2];
        lower[1] = fragments[f + i][3];
      }
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      __syncwarp();
      const GradientCopies& copies = job_.copies;
      const std::uint32_t at = column + f * 8;
      const std::uint32_t block = at >> copies.block_bits;
      const std::uint32_t tap = copies.blocks.quotient(block);
      const std::uint32_t channel = (copies.blocks.remainder(block, tap) << copies.block_bits) +
                                    (at - (block << copies.block_bits));
      if (lane < 16 && row + lane < copies.outs && block < copies.all_blocks) {
        Sum* to = static_cast<Sum*>(job_.sums) + plane_ * job_.plane_step +
                  (row + lane) * job_.column_step + std::size_t{tap} * copies.channels + channel;
        if (copies.channels % 64 == 0) {
          add_bytes(to, slab_ + lane * kLine, kLine);
        } else {
          add_few(to, reinterpret_cast<const Sum*>(slab_ + lane * kLine),
                  channel < copies.channels ? copies.channels - channel : 0);
        }
      }
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
  }
  // Lines that begin anywhere are beyond the copy engine.
  static __device__ __noinline__ void add_few(Sum* to, const Sum* from, std::uint32_t count) {
    for (std::uint32_t i = 0; i < min(count, kColumns); ++i) {
      if constexpr (sizeof(Sum) == 4) {
        atomicAdd(to + i, from[i]);
      } else {
        atomicAdd(reinterpret_cast<unsigned long long*>(to + i),
                  static_cast<unsigned long long>(from[i]));
      }
    }
  }

  std::int8_t* slab_;
  const SummedProduct& job_;
  const TensorMap& map_;
  std::uint32_t plane_;
};

struct alignas(64) GradientJob {
  TensorMap rows;
  TensorMap columns;
  TensorMap sums;
  SummedProduct job;
  std::uint8_t unused[64 - sizeof(SummedProduct) % 64];
};

template <class Tile, class Sum>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    summed_gradient(const __grid_constant__ GradientJob staged) {
  const StageMemory<Tile> memory = begin_staged<Tile>(staged);
  const SummedProduct& job = staged.job;
  StageCursor<Tile> cursor;
  const std::uint32_t first = blockIdx.y * job.shape.depths;
  const std::uint32_t stages = min(job.shape.depths, job.copies.all_stages - first);
  if (threadIdx.x >= Tile::kMultiplying) {
    keep_few_registers<Tile>();
    if (threadIdx.x > Tile::kMultiplying) return;
    for_each_tile_of<Tile>(job.shape, [&](std::uint32_t row, std::uint32_t column) {
      GradientParts<Tile> parts(job.copies, staged.rows, staged.columns, row, column,
                                first * Tile::kParts);
      copy_stages(memory, cursor, stages, parts);
    });
  } else {
    take_many_registers<Tile>();
    StagedSums<Tile> sums;
    SlabAdder<Sum> adder(memory.slab(), job, staged.sums);
    for_each_tile_of<Tile>(job.shape, [&](std::uint32_t row, std::uint32_t column) {
      sums.multiply(memory, cursor, stages);
      sums.for_each_block([&](std::uint32_t r, std::uint32_t c, const std::int32_t(&block)[4][4]) {
        adder.add(row + r, column + c, block);
      });
    });
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

template <class Tile>
void queue_on(DeviceQueue& queue, const SummedProduct& job, bool is_wide, std::uint32_t planes) {
  const std::uint32_t most = (queue.multiprocessors() + planes - 1) / planes;
  queue_staged<Tile>(
      queue, is_wide ? summed_gradient<Tile, std::int64_t> : summed_gradient<Tile, std::int32_t>,
      GradientJob{job.copies.rows, job.copies.columns, job.copies.sums, job, {}},
      std::min(most, job.shape.tiles), planes);
}

}  // namespace

void queue_staged_gradient(DeviceQueue& queue, const SummedProduct& job, bool is_wide,
                           std::uint32_t planes) {
  const auto queue_by_segment = [&]<int kColumns>() {
    if (job.copies.segment == 128)
      return queue_on<StagedTile<1, kColumns, 128>>(queue, job, is_wide, planes);
    queue_on<StagedTile<1, kColumns, 64>>(queue, job, is_wide, planes);
  };
  switch (job.copies.tile_columns) {
    case 64:
      return queue_by_segment.operator()<64>();
    case 192:
      return queue_by_segment.operator()<192>();
    default:
      return queue_by_segment.operator()<256>();
  }
}

}  // namespace nibble::cuda
