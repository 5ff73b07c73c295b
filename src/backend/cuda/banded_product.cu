// SPDX-License-Identifier: Apache-2.0
// Bands of pictures times filters, ended by the rescale law in the registers of their sums.
#include "backend/cuda/banded_product.h"

#include "backend/cuda/staged_finish.cuh"

namespace nibble::cuda {
namespace {

constexpr std::uint32_t kOverlapping = 16;

// Lines of kPixel bytes, of which a tap takes kDepth.
template <std::uint32_t kPixel_>
struct BandTile : StagedTile<2, 64, kPixel_ == kOverlapping ? 64 : kPixel_, StagedTeam<1, 32, 3>> {
  static constexpr std::uint32_t kPixel = kPixel_;
  static constexpr std::uint32_t kTapBytes = BandTile::kSegment * BandTile::kColumns;
  static constexpr std::uint64_t kBlock = 64 * kPixel / 16;  // of rows, in a descriptor
  static_assert(BandTile::kRows == kBandTile.rows && BandTile::kColumns == kBandTile.columns);

  // Rows that overlap have no order but that of their bytes: eight of them are 128, and the next 16
  // bytes of a row are those of the next row.
  static __device__ __forceinline__ std::uint64_t rows_at(std::uint32_t address) {
    if constexpr (kPixel == kOverlapping)
      return std::uint64_t{128 >> 4} << 32 | std::uint64_t{1} << 16 | (address & 0x3FFFF) >> 4;
    else
      return tile_descriptor<kPixel>(address);
  }
};

// Shared memory of a block: stages, filters, barriers.
template <class Tile>
class BandMemory {
 public:
  __device__ BandMemory(std::int8_t* memory, const BandedShape& shape)
      : stages_(memory + (((shared_address(memory) + 1023) & ~1023u) - shared_address(memory))),
        stage_bytes_(shape.stage_bytes),
        filters_(stages_ + shape.stages * shape.stage_bytes),
        barriers_(reinterpret_cast<CopyBarrier*>(filters_ +
                                                 shape.taps[0] * shape.taps[1] * Tile::kTapBytes)) {
    if (threadIdx.x == 0) {
      has_filters().start(1);
      for (std::uint32_t i = 0; i < shape.stages; ++i) {
        full(i).start(1);
        empty(i).start(Tile::kMultiplying / 32);
      }
      publish_barriers();
    }
    __syncthreads();
  }

  __device__ std::int8_t* stage(std::uint32_t i) const { return stages_ + i * stage_bytes_; }
  __device__ std::int8_t* filters() const { return filters_; }
  __device__ CopyBarrier& has_filters() const { return barriers_[0]; }
  __device__ CopyBarrier& full(std::uint32_t i) const { return barriers_[1 + 2 * i]; }
  __device__ CopyBarrier& empty(std::uint32_t i) const { return barriers_[2 + 2 * i]; }

 private:
  std::int8_t* stages_;
  std::uint32_t stage_bytes_;
  std::int8_t* filters_;
  CopyBarrier* barriers_;
};

// Stage after stage, round and round.
struct BandCursor {
  std::uint32_t stage = 0;
  std::uint32_t parity = 0;

  __device__ __forceinline__ void advance(std::uint32_t stages) {
    if (++stage < stages) return;
    stage = 0;
    parity ^= 1;
  }
};

// Rows of a tile that are pixels of the result.
struct BandRows {
  Divisor pitch;
  std::uint32_t width;
  std::uint32_t lines;
  std::uint32_t first;  // row of the result

  __device__ __forceinline__ bool has(std::uint32_t row) const {
    const std::uint32_t y = pitch.quotient(row);
    return y < lines && pitch.remainder(row, y) < width;
  }
  __device__ __forceinline__ std::uint32_t at(std::uint32_t row) const {
    const std::uint32_t y = pitch.quotient(row);
    return first + y * width + pitch.remainder(row, y);
  }
};

// One band of a picture.
struct Band {
  std::uint32_t image;
  std::uint32_t first_line;

  __device__ __forceinline__ Band(const BandedShape& shape, std::uint32_t tile)
      : image(shape.bands.quotient(tile)),
        first_line(shape.bands.remainder(tile, image) * shape.lines) {}

  __device__ __forceinline__ BandRows rows(const BandedShape& shape) const {
    return {shape.pitch, shape.extent[0], min(shape.lines, shape.extent[1] - first_line),
            (image * shape.extent[1] + first_line) * shape.extent[0]};
  }
};

template <class Tile, class Law>
class BandWork {
 public:
  __device__ __forceinline__ explicit BandWork(const BandedProduct& job)
      : job_(job), shape_(job.shape), memory_(staged_memory, job.shape) {}

  // By one thread.
  __device__ __forceinline__ void copy() {
    const std::uint32_t taps = shape_.taps[0] * shape_.taps[1];
    prefetch(job_.rows);
    memory_.has_filters().arrive_and_expect(taps * Tile::kTapBytes);
#pragma unroll 1
    for (std::uint32_t tap = 0; tap < taps; ++tap)
      copy_box(job_.columns, memory_.has_filters(), memory_.filters() + tap * Tile::kTapBytes,
               static_cast<std::int32_t>(tap * Tile::kSegment), 0, 0, 0, 0);
    wait_for_earlier();
    for_each_band([&](const Band& band) {
      const auto image = static_cast<std::int32_t>(band.image);
      const auto line = static_cast<std::int32_t>(band.first_line);
      next(shape_.rows_bytes, [&](std::int8_t* to, CopyBarrier& full) {
        if constexpr (Tile::kPixel == kOverlapping)
          copy_box(job_.rows, full, to, shape_.first[0], line + shape_.first[1], image);
        else
          copy_box(job_.rows, full, to, 0, shape_.first[0], line + shape_.first[1], image);
      });
      if constexpr (Law::kIsAdded) {
        next(shape_.added_bytes, [&](std::int8_t* to, CopyBarrier& full) {
          copy_box(job_.added, full, to, 0, 0, line, image);
        });
      }
    });
  }

  // By all that multiply.
  __device__ __forceinline__ void multiply() {
    wait_for_earlier();
    memory_.has_filters().wait(0);
    for_each_band([&](const Band& band) {
      StagedSums<Tile> sums;
      memory_.full(cursor_.stage).wait(cursor_.parity);
      multiply(sums);
      leave();
      const std::int8_t* added = memory_.stage(cursor_.stage);
      if constexpr (Law::kIsAdded) memory_.full(cursor_.stage).wait(cursor_.parity);
      FinishedTile<Tile, Law, BandRows>(job_.finish, band.rows(shape_), 0)
          .end(sums, [&](int chunk) { return added_at(added, chunk); });
      if constexpr (Law::kIsAdded) {
        __syncwarp();
        leave();
      }
    });
  }

 private:
  template <class Body>
  __device__ __forceinline__ void for_each_band(const Body& body) const {
#pragma unroll 1
    for (std::uint32_t tile = blockIdx.x; tile < job_.tiles; tile += gridDim.x)
      body(Band(shape_, tile));
  }

  template <class Copy>
  __device__ __forceinline__ void next(std::uint32_t bytes, const Copy& copy) {
    memory_.empty(cursor_.stage).wait(cursor_.parity ^ 1);
    CopyBarrier& full = memory_.full(cursor_.stage);
    full.arrive_and_expect(bytes);
    copy(memory_.stage(cursor_.stage), full);
    cursor_.advance(shape_.stages);
  }
  __device__ __forceinline__ void leave() {
    if (threadIdx.x % 32 == 0) memory_.empty(cursor_.stage).arrive();
    cursor_.advance(shape_.stages);
  }

  __device__ __forceinline__ void multiply(StagedSums<Tile>& sums) const {
    std::uint64_t rows = Tile::rows_at(shared_address(memory_.stage(cursor_.stage)));
    std::uint64_t columns = tile_descriptor<Tile::kSegment>(shared_address(memory_.filters()));
    const std::uint64_t next_line =
        (shape_.line_bytes - (shape_.taps[0] - 1) * Tile::kSegment) / 16;
    const std::uint32_t taps = shape_.taps[0] * shape_.taps[1];
    std::uint32_t left = shape_.taps[0];  // of this line
    begin_multiplying();
    sums.template add_depth<true>(rows, Tile::kBlock, columns);
    end_multiplying();
#pragma unroll 1
    for (std::uint32_t tap = 1; tap < taps; ++tap) {
      const bool is_over = --left == 0;
      if (is_over) left = shape_.taps[0];
      rows += is_over ? next_line : Tile::kSegment / 16;
      columns += Tile::kTapBytes / 16;
      begin_multiplying();
      sums.template add_depth<false>(rows, Tile::kBlock, columns);
      end_multiplying();
    }
    wait_for_products<0>();
  }

  // Lines are swizzled as those of operands are.
  static __device__ __forceinline__ uint4 added_at(const std::int8_t* stage, int chunk) {
    constexpr std::uint32_t kLine = Tile::kPixel;
    const std::uint32_t at =
        StagedSums<Tile>::row_of(chunk) * kLine + StagedSums<Tile>::column_of(chunk);
    return *reinterpret_cast<const uint4*>(stage + (at ^ (at >> 7 & (kLine / 16 - 1)) << 4));
  }

  const BandedProduct& job_;
  const BandedShape& shape_;
  BandMemory<Tile> memory_;
  BandCursor cursor_;
};

template <class Tile, class Law>
__global__ void __launch_bounds__(Tile::kThreads, Tile::Team::kBlocks)
    finished_bands(const __grid_constant__ BandedProduct job) {
  let_next_begin();
  BandWork<Tile, Law> work(job);
  if (threadIdx.x < Tile::kMultiplying) {
    work.multiply();
  } else if (threadIdx.x == Tile::kMultiplying) {
    work.copy();
  }
}

template <class Tile, class Law>
void queue_bands(DeviceQueue& queue, const BandedProduct& job) {
  // As many blocks as are at work at a time, all with as many bands as the others, or one less.
  const std::uint32_t most = queue.multiprocessors() * Tile::Team::kBlocks;
  const std::uint32_t rounds = (job.tiles + most - 1) / most;
  const auto kernel = finished_bands<Tile, Law>;
  blocks_of(reinterpret_cast<const void*>(kernel), Tile::kThreads, kBandBytes);
  queue.launch(kernel,
               {.blocks = (job.tiles + rounds - 1) / rounds,
                .threads = Tile::kThreads,
                .shared_bytes = job.shape.shared_bytes()},
               job);
}

template <class Tile, template <bool> class Law>
void queue_law(DeviceQueue& queue, const BandedProduct& job) {
  if constexpr (Tile::kPixel != kOverlapping) {
    if (job.finish.addend != nullptr) return queue_bands<Tile, Law<true>>(queue, job);
  }
  queue_bands<Tile, Law<false>>(queue, job);
}

template <std::uint32_t kPixel>
void queue_pixel(DeviceQueue& queue, const BandedProduct& job) {
  switch (job.finish.form) {
    case FinishForm::half_relu:
      return queue_law<BandTile<kPixel>, HalfReluLaw>(queue, job);
    case FinishForm::half:
      return queue_law<BandTile<kPixel>, HalfLaw>(queue, job);
    default:
      return queue_law<BandTile<kPixel>, WideLaw>(queue, job);
  }
}

}  // namespace

void queue(DeviceQueue& queue, const BandedProduct& job) {
  switch (job.shape.pixel_bytes) {
    case 64:
      return queue_pixel<64>(queue, job);
    case 32:
      return queue_pixel<32>(queue, job);
    default:
      return queue_pixel<kOverlapping>(queue, job);
  }
}

}  // namespace nibble::cuda
