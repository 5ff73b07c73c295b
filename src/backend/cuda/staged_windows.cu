// SPDX-License-Identifier: Apache-2.0
// Windows times filters, forward and for errors: rows and columns are brought by the copy engine,
// sums are rounded in the registers that they were made in.
#include <algorithm>

#include "backend/cuda/normed_ending.cuh"
#include "backend/cuda/rounded_ending.cuh"
#include "backend/cuda/staged_product.cuh"

namespace nibble::cuda {
namespace {

// Parts of windows and filters, tap after tap.
template <class Tile>
class WindowParts {
 public:
  __device__ WindowParts(const WindowCopies& copies, const TensorMap& rows,
                         const TensorMap& columns, std::uint32_t first_row,
                         std::uint32_t first_column)
      : copies_(copies), rows_(rows), columns_(columns), column_group_(first_column / 64) {
    const std::uint32_t image = copies.pixels.quotient(first_row);
    const std::uint32_t pixel = copies.pixels.remainder(first_row, image);
    const std::uint32_t y = copies.width.quotient(pixel);
    const std::uint32_t x = copies.width.remainder(pixel, y);
    image_ = static_cast<std::int32_t>(image);
    x_ = copies.first[0] + static_cast<std::int32_t>(x) * copies.stride[0];
    y_ = copies.first[1] + static_cast<std::int32_t>(y) * copies.stride[1];
  }

  __device__ __forceinline__ void part(std::int8_t* rows, std::int8_t* columns,
                                       CopyBarrier& barrier) {
    // Behind the last tap rows are zeros, whatever the columns are: no channel is so far.
    const bool is_inside = tap_y_ < copies_.taps[1];
    const auto channel = static_cast<std::int32_t>(segment_ * Tile::kSegment);
    const std::uint32_t turned_x = copies_.is_turned ? copies_.taps[0] - 1 - tap_x_ : tap_x_;
    const std::uint32_t turned_y = copies_.is_turned ? copies_.taps[1] - 1 - tap_y_ : tap_y_;
    copy_windows(rows_, barrier, rows,
                 is_inside ? channel : static_cast<std::int32_t>(copies_.tap_bytes), x_, y_, image_,
                 static_cast<std::uint16_t>(is_inside ? turned_x * copies_.step[0] : 0),
                 static_cast<std::uint16_t>(is_inside ? turned_y * copies_.step[1] : 0));
    copy_box(columns_, barrier, columns, is_inside ? tap_begin_ + channel : 0, 0, 0, 0,
             static_cast<std::int32_t>(column_group_));
    if (++segment_ < copies_.segments) return;
    segment_ = 0;
    tap_begin_ += static_cast<std::int32_t>(copies_.tap_bytes);
    if (++tap_x_ < copies_.taps[0]) return;
    tap_x_ = 0;
    ++tap_y_;
  }

 private:
  const WindowCopies& copies_;
  const TensorMap& rows_;
  const TensorMap& columns_;
  std::int32_t x_;
  std::int32_t y_;
  std::int32_t image_;
  std::uint32_t column_group_;
  std::uint32_t tap_x_ = 0;
  std::uint32_t tap_y_ = 0;
  std::uint32_t segment_ = 0;
  std::int32_t tap_begin_ = 0;
};

// One thread copies, eight warps multiply and end their tiles.
template <class Tile, class Job, class Ending>
__device__ __forceinline__ void multiply_windows(const StagedJob<Job>& staged, Ending& ending) {
  const Job& job = staged.job;
  const StageMemory<Tile> memory(staged_memory);
  StageCursor<Tile> cursor;
  const std::uint32_t stages =
      (job.copies.taps[0] * job.copies.taps[1] * job.copies.segments + Tile::kParts - 1) /
      Tile::kParts;
  if (threadIdx.x >= Tile::kMultiplying) {
    keep_few_registers();
    if (threadIdx.x > Tile::kMultiplying) return;
    for_each_tile_of<Tile>(job.shape, [&](std::uint32_t row, std::uint32_t column) {
      WindowParts<Tile> parts(job.copies, staged.rows, staged.columns, row, column);
      copy_stages(memory, cursor, stages, parts);
    });
  } else {
    take_many_registers();
    StagedSums<Tile> sums;
    for_each_tile_of<Tile>(job.shape, [&](std::uint32_t row, std::uint32_t column) {
      sums.multiply(memory, cursor, stages);
      ending.tile(row, column, sums);
    });
    ending.template end<Tile::kMultiplying>();
  }
}

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    staged_windows(const __grid_constant__ StagedJob<RoundedProduct> staged) {
  start_kernel();
  RoundedEnding ending(staged.job);
  if (!ending.ends_early()) multiply_windows<Tile>(staged, ending);
}

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    staged_windows(const __grid_constant__ StagedJob<NormedProduct> staged) {
  start_kernel();
  NormedEnding ending(staged.job);
  multiply_windows<Tile>(staged, ending);
}

template <class Tile, class Job>
void queue_on(DeviceQueue& queue, const Job& job) {
  void (*kernel)(StagedJob<Job>) = staged_windows<Tile>;
  queue_staged<Tile>(queue, kernel, job, std::min(queue.multiprocessors(), job.shape.tiles));
}

template <int kBlocksOfRows, int kWidth, class Job>
void queue_by_segment(DeviceQueue& queue, const Job& job) {
  switch (job.copies.segment) {
    case 128:
      return queue_on<StagedTile<kBlocksOfRows, kWidth, 128>>(queue, job);
    case 64:
      return queue_on<StagedTile<kBlocksOfRows, kWidth, 64>>(queue, job);
    default:
      return queue_on<StagedTile<kBlocksOfRows, kWidth, 32>>(queue, job);
  }
}

template <class Job>
void queue_by_width(DeviceQueue& queue, const Job& job) {
  if (job.shape.columns > 128) return queue_by_segment<1, 256>(queue, job);
  queue_by_segment<2, 128>(queue, job);
}

}  // namespace

void queue_staged_windows(DeviceQueue& queue, const RoundedProduct& job) {
  queue_by_width(queue, job);
}
void queue_staged_windows(DeviceQueue& queue, const NormedProduct& job) {
  queue_by_width(queue, job);
}

}  // namespace nibble::cuda
