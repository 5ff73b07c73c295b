// SPDX-License-Identifier: Apache-2.0
// Windows times filters, forward and for errors: rows and columns are brought by the copy engine,
// sums are rounded in the registers that they were made in.
#include <algorithm>

#include "backend/cuda/normed_ending.cuh"
#include "backend/cuda/pooled_ending.cuh"
#include "backend/cuda/rounded_ending.cuh"
#include "backend/cuda/staged_product.cuh"

namespace nibble::cuda {
namespace {

// The pixels and images that a tile is of, and which taps meet its source.
struct WindowTile {
  std::uint32_t image;
  std::uint32_t pixel;
  std::int32_t at[2];  // x, y of the first tap, as taps lie in the source
  std::uint32_t begin[2];
  std::uint32_t end[2];

  // The pixel of a tile's first row.
  template <std::uint32_t kTileRows>
  static __device__ __forceinline__ std::uint32_t pixel_of(const WindowCopies& copies,
                                                           std::uint32_t first_row) {
    if (copies.patch_images != 0) {
      const std::uint32_t images = copies.patch_pixels.quotient(first_row);
      const std::uint32_t patch = copies.patch_pixels.remainder(first_row, images) / kTileRows;
      const std::uint32_t pair = copies.width.quotient(patch * kPatchWidth);  // of lines
      return patch * kPatchWidth + pair * copies.width.divisor;
    }
    if (copies.order != nullptr)
      return static_cast<std::uint32_t>(copies.order[copies.images.quotient(first_row)]);
    return copies.pixels.remainder(first_row, copies.pixels.quotient(first_row));
  }

  __device__ __forceinline__ WindowTile(const WindowCopies& copies, std::uint32_t first_row,
                                        std::uint32_t first_pixel)
      : pixel(first_pixel) {
    if (copies.patch_images != 0) {
      image = copies.patch_pixels.quotient(first_row) * copies.patch_images;
    } else {
      image = copies.order == nullptr
                  ? copies.pixels.quotient(first_row)
                  : copies.images.remainder(first_row, copies.images.quotient(first_row));
    }
    const std::uint32_t y = copies.width.quotient(pixel);
    const std::uint32_t coordinates[2] = {copies.width.remainder(pixel, y), y};
#pragma unroll
    for (int axis = 0; axis < 2; ++axis) {
      at[axis] =
          copies.first[axis] + static_cast<std::int32_t>(coordinates[axis]) * copies.stride[axis];
      begin[axis] = 0;
      end[axis] = copies.taps[axis];
      if (copies.order == nullptr) continue;
      // One tap is always brought: zeros, where all are outside.
      const auto step = static_cast<std::int32_t>(copies.step[axis]);
      std::int32_t last = at[axis] + static_cast<std::int32_t>(end[axis] - 1) * step;
      while (end[axis] > 1 && last >= static_cast<std::int32_t>(copies.extent[axis])) {
        --end[axis];
        last -= step;
      }
      std::int32_t first = at[axis];
      while (begin[axis] + 1 < end[axis] && first < 0) {
        ++begin[axis];
        first += step;
      }
    }
  }

  // Parts of a stage that are too many bring zeros.
  template <std::uint32_t kParts>
  __device__ __forceinline__ std::uint32_t stages(const WindowCopies& copies) const {
    const std::uint32_t taps = (end[0] - begin[0]) * (end[1] - begin[1]);
    return (taps * copies.segments + kParts - 1) / kParts;
  }
  // Of patches the first of the pool's pixels, and how far it is to the next image.
  __device__ __forceinline__ TileRows rows(const WindowCopies& copies) const {
    const std::uint32_t pixels = copies.pixels.divisor;
    if (copies.patch_images != 0) {
      const auto x = static_cast<std::uint32_t>(at[0] - copies.first[0]);
      return {image * (pixels / 4) + (pixel + x) / 4, pixels / 4};
    }
    return {image * pixels + pixel, copies.order == nullptr ? 1 : pixels};
  }
};

// Parts of windows and filters, tap after tap.
template <class Tile>
class TapParts {
 public:
  __device__ TapParts(const WindowCopies& copies, const TensorMap& rows, const TensorMap& columns,
                      const WindowTile& tile, std::uint32_t first_column)
      : copies_(copies),
        rows_(rows),
        columns_(columns),
        tile_(tile),
        column_group_(first_column / 64),
        tap_x_(tile.begin[0]),
        tap_y_(tile.begin[1]) {}

  __device__ __forceinline__ void part(std::int8_t* rows, std::int8_t* columns,
                                       CopyBarrier& barrier) {
    // Behind the last tap rows are zeros, whatever the columns are: no channel is so far.
    const bool is_inside = tap_y_ < tile_.end[1];
    const auto within = static_cast<std::int32_t>(segment_ * Tile::kSegment);
    const std::int32_t channel = is_inside ? within : static_cast<std::int32_t>(copies_.tap_bytes);
    const std::uint32_t right = is_inside ? tap_x_ * copies_.step[0] : 0;
    const std::uint32_t down = is_inside ? tap_y_ * copies_.step[1] : 0;
    const auto image = static_cast<std::int32_t>(tile_.image);
    if (copies_.is_flat != 0) {
      copy_box(rows_, barrier, rows, channel,
               static_cast<std::int32_t>(tile_.image * copies_.pixels.divisor + tile_.pixel));
    } else if (copies_.order == nullptr && copies_.patch_images == 0) {
      copy_windows(rows_, barrier, rows, channel, tile_.at[0], tile_.at[1], image,
                   static_cast<std::uint16_t>(right), static_cast<std::uint16_t>(down));
    } else {
      copy_box(rows_, barrier, rows, channel, tile_.at[0] + static_cast<std::int32_t>(right),
               tile_.at[1] + static_cast<std::int32_t>(down), image);
    }
    const std::uint32_t tap = tap_y_ * copies_.taps[0] + tap_x_;
    const std::uint32_t filter_tap =
        copies_.is_turned != 0 ? copies_.taps[0] * copies_.taps[1] - 1 - tap : tap;
    const auto begin = static_cast<std::int32_t>(filter_tap * copies_.tap_bytes);
    copy_box(columns_, barrier, columns, is_inside ? begin + within : 0, 0, 0, 0,
             static_cast<std::int32_t>(column_group_));
    if (++segment_ < copies_.segments) return;
    segment_ = 0;
    if (++tap_x_ < tile_.end[0]) return;
    tap_x_ = tile_.begin[0];
    ++tap_y_;
  }

 private:
  const WindowCopies& copies_;
  const TensorMap& rows_;
  const TensorMap& columns_;
  const WindowTile& tile_;
  std::uint32_t column_group_;
  std::uint32_t tap_x_;
  std::uint32_t tap_y_;
  std::uint32_t segment_ = 0;
};

// One thread copies, eight warps multiply and end their tiles. Who copies does not wait for what
// an ending asks for.
template <class Tile, class Ending, class Job>
__device__ __forceinline__ void multiply_windows(const StagedJob<Job>& staged,
                                                 const StageMemory<Tile>& memory) {
  const Job& job = staged.job;
  StageCursor<Tile> cursor;
  std::uint32_t tiles = 0;  // so far
  if (threadIdx.x >= Tile::kMultiplying) {
    keep_few_registers<Tile>();
    if (threadIdx.x > Tile::kMultiplying) return;
    for_each_tile_of<Tile>(job.shape, [&](std::uint32_t row, std::uint32_t column) {
      const std::uint32_t pixel = WindowTile::pixel_of<Tile::kRows>(job.copies, row);
      memory.note(tiles++) = pixel;
      const WindowTile tile(job.copies, row, pixel);
      TapParts<Tile> parts(job.copies, staged.rows, staged.columns, tile, column);
      copy_stages(memory, cursor, tile.template stages<Tile::kParts>(job.copies), parts);
    });
  } else {
    take_many_registers<Tile>();
    Ending ending(job);
    StagedSums<Tile> sums;
    for_each_tile_of<Tile>(job.shape, [&](std::uint32_t row, std::uint32_t column) {
      memory.full(cursor.stage).wait(cursor.parity);
      const WindowTile tile(job.copies, row, memory.note(tiles++));
      sums.multiply(memory, cursor, tile.template stages<Tile::kParts>(job.copies));
      ending.tile(tile.rows(job.copies), column, sums, memory.slab_of_four());
    });
    ending.template end<Tile::kMultiplying>();
  }
}

template <class Tile, bool kTurns>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    rounded_windows(const __grid_constant__ StagedJob<RoundedProduct> staged) {
  const StageMemory<Tile> memory = begin_staged<Tile>(staged);
  if (staged.job.site.is_repeat && RoundedEnding<kTurns>(staged.job).ends_early(staged_memory))
    return;
  multiply_windows<Tile, RoundedEnding<kTurns>>(staged, memory);
}

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    normed_windows(const __grid_constant__ StagedJob<NormedProduct> staged) {
  const StageMemory<Tile> memory = begin_staged<Tile>(staged);
  multiply_windows<Tile, NormedEnding>(staged, memory);
}

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    pooled_windows(const __grid_constant__ StagedJob<RoundedProduct> staged) {
  const StageMemory<Tile> memory = begin_staged<Tile>(staged);
  if (staged.job.site.is_repeat && PooledEnding(staged.job).ends_early()) return;
  multiply_windows<Tile, PooledEnding>(staged, memory);
}

template <class Tile>
auto kernel_of(const RoundedProduct& job) {
  if constexpr (Tile::kSegment == 128) {
    if (job.pooled.values != nullptr) return pooled_windows<Tile>;
  }
  return job.turned != nullptr ? rounded_windows<Tile, true> : rounded_windows<Tile, false>;
}
template <class Tile>
auto kernel_of(const NormedProduct&) {
  return normed_windows<Tile>;
}

template <class Tile, class Job>
void queue_on(DeviceQueue& queue, const Job& job) {
  queue_staged<Tile>(queue, kernel_of<Tile>(job), staged_job(job),
                     std::min(queue.multiprocessors(), job.shape.tiles));
}

template <int kBlocksOfRows, int kWidth, class Job>
void queue_by_segment(DeviceQueue& queue, const Job& job) {
  switch (job.copies.segment) {
    case 128:
      return queue_on<StagedTile<kBlocksOfRows, kWidth, 128>>(queue, job);
    case 64:
      return queue_on<StagedTile<kBlocksOfRows, kWidth, 64>>(queue, job);
    default:
      return queue_on<StagedTile<kBlocksOfRows, kWidth, 32, WholeTeam, 4, 32>>(queue, job);
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
