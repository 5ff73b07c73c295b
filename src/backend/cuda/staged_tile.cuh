// SPDX-License-Identifier: Apache-2.0
// Tiles of sums on tensor cores of Hopper: one warp asks the copy engine for the depth of a tile,
// stage after stage, and eight warps multiply what has arrived. Who copies runs ahead of who
// multiplies, also into the next tile while this one's sums are rounded.
//
// A stage is 128 bytes of depth, in parts of kSegment bytes: of a part first all rows, then all
// columns, each a line of kSegment swizzled bytes.
#pragma once

#include "backend/cuda/tma.cuh"
#include "backend/cuda/wgmma.cuh"

namespace nibble::cuda {

inline constexpr std::uint32_t kStageDepth = 128;

template <int kBlocksOfRows_, int kWidth, int kSegmentBytes>
struct StagedTile {
  static constexpr int kBlocksOfRows = kBlocksOfRows_;  // of 64, for each of two groups of warps
  static constexpr std::uint32_t kRows = 128 * kBlocksOfRows;
  static constexpr std::uint32_t kColumns = kWidth;
  static constexpr std::uint32_t kSegment = kSegmentBytes;
  static constexpr std::uint32_t kParts = kStageDepth / kSegment;  // of a stage
  static constexpr std::uint32_t kPartBytes = (kRows + kColumns) * kSegment;
  static constexpr std::uint32_t kStages = 4;
  static constexpr std::uint32_t kMultiplying = 256;             // threads
  static constexpr std::uint32_t kThreads = kMultiplying + 128;  // and those of whom one copies
  static constexpr std::uint32_t kSlabBytes = 16 * 160;          // of a warp, for sums on their way
  static constexpr std::uint32_t kStageBytes = kParts * kPartBytes;
  static constexpr std::uint32_t kBytes =
      1024 + kStages * kStageBytes + 8 * kSlabBytes + 2 * kStages * sizeof(CopyBarrier);
};

// Registers go by groups of four warps: who copies leaves most of his to who multiplies.
__device__ __forceinline__ void keep_few_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
}
__device__ __forceinline__ void take_many_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
}

// Shared memory of a block, whose stages begin at a multiple of 1024.
template <class Tile>
class StageMemory {
 public:
  __device__ explicit StageMemory(std::int8_t* memory)
      : stages_(memory + (((shared_address(memory) + 1023) & ~1023u) - shared_address(memory))) {
    if (threadIdx.x == 0) {
      for (std::uint32_t i = 0; i < Tile::kStages; ++i) {
        full(i).start(1);
        empty(i).start(Tile::kMultiplying / 32);
      }
      publish_barriers();
    }
    __syncthreads();
  }

  __device__ std::int8_t* rows(std::uint32_t stage, std::uint32_t part) const {
    return stages_ + stage * Tile::kStageBytes + part * Tile::kPartBytes;
  }
  __device__ std::int8_t* columns(std::uint32_t stage, std::uint32_t part) const {
    return rows(stage, part) + Tile::kRows * Tile::kSegment;
  }
  __device__ std::int8_t* slab() const {  // of this warp
    return stages_ + Tile::kStages * Tile::kStageBytes + threadIdx.x / 32 * Tile::kSlabBytes;
  }
  __device__ CopyBarrier& full(std::uint32_t stage) const { return barriers()[stage]; }
  __device__ CopyBarrier& empty(std::uint32_t stage) const {
    return barriers()[Tile::kStages + stage];
  }

 private:
  __device__ CopyBarrier* barriers() const {
    return reinterpret_cast<CopyBarrier*>(stages_ + Tile::kStages * Tile::kStageBytes +
                                          8 * Tile::kSlabBytes);
  }

  std::int8_t* stages_;
};

// Stage after stage, round and round.
template <class Tile>
struct StageCursor {
  std::uint32_t stage = 0;
  std::uint32_t parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage < Tile::kStages) return;
    stage = 0;
    parity ^= 1;
  }
};

// By one thread: copies.part(rows, columns, barrier) brings the next part of the tile, or zeros.
template <class Tile, class Copies>
__device__ __forceinline__ void copy_stages(const StageMemory<Tile>& memory,
                                            StageCursor<Tile>& cursor, std::uint32_t stages,
                                            Copies& copies) {
#pragma unroll 1
  for (std::uint32_t i = 0; i < stages; ++i) {
    memory.empty(cursor.stage).wait(cursor.parity ^ 1);
    CopyBarrier& full = memory.full(cursor.stage);
    full.arrive_and_expect(Tile::kStageBytes);
#pragma unroll
    for (std::uint32_t part = 0; part < Tile::kParts; ++part)
      copies.part(memory.rows(cursor.stage, part), memory.columns(cursor.stage, part), full);
    cursor.advance();
  }
}

// The sums of a tile, by the eight warps that multiply.
template <class Tile>
class StagedSums {
 public:
  __device__ __forceinline__ void multiply(const StageMemory<Tile>& memory,
                                           StageCursor<Tile>& cursor, std::uint32_t stages) {
    const std::uint32_t group = threadIdx.x / 128;
    std::uint32_t last = 0;  // the stage whose products may be under way
    bool adds = false;
#pragma unroll 1
    for (std::uint32_t i = 0; i < stages; ++i) {
      memory.full(cursor.stage).wait(cursor.parity);
      begin_multiplying();
#pragma unroll
      for (std::uint32_t part = 0; part < Tile::kParts; ++part) {
        const std::uint32_t rows = shared_address(memory.rows(cursor.stage, part));
        const std::uint64_t b =
            tile_descriptor<Tile::kSegment>(rows + Tile::kRows * Tile::kSegment);
#pragma unroll
        for (std::uint64_t k = 0; k < Tile::kSegment / 32; ++k) {
#pragma unroll
          for (int m = 0; m < Tile::kBlocksOfRows; ++m) {
            const std::uint32_t line = (group * Tile::kBlocksOfRows + m) * 64;
            const std::uint64_t a = tile_descriptor<Tile::kSegment>(rows + line * Tile::kSegment);
            multiply_tiles(sums_[m], a + k * 2, b + k * 2, adds || part > 0 || k > 0);
          }
        }
      }
      end_multiplying();
      adds = true;
      if (i > 0) {
        wait_for_products<1>();
        if (threadIdx.x % 32 == 0) memory.empty(last).arrive();
      }
      last = cursor.stage;
      cursor.advance();
    }
    wait_for_products<0>();
    if (threadIdx.x % 32 == 0) memory.empty(last).arrive();
  }

  // Columns may be brought so that column 8·j + 2·t + e of 64 is the one that belongs at
  // 16·t + 2·j + e: a thread then has chunks of 16 sums that belong side by side, and a quad 64.
  static constexpr std::uint32_t kRows = Tile::kRows;
  static constexpr std::uint32_t kColumns = Tile::kColumns;
  static constexpr int kGroups = static_cast<int>(Tile::kColumns / 64);
  static constexpr int kChunks = Tile::kBlocksOfRows * kGroups * 2;

  __device__ __forceinline__ std::int32_t at(int chunk, int j) const {
    return sums_[chunk / 2 / kGroups][2 * (chunk / 2 % kGroups) + j / 8][j / 2 % 4]
                [2 * (chunk % 2) + j % 2];
  }
  // Rows and columns from the first chunk of this thread on.
  static __device__ __forceinline__ constexpr std::uint32_t row_step(int chunk) {
    return static_cast<std::uint32_t>(chunk / 2 / kGroups * 64 + chunk % 2 * 8);
  }
  static __device__ __forceinline__ constexpr std::uint32_t column_step(int chunk) {
    return static_cast<std::uint32_t>(chunk / 2 % kGroups * 64);
  }
  __device__ __forceinline__ std::uint32_t row_of(int chunk) const {
    return first_row(0) + threadIdx.x % 32 / 4 + row_step(chunk);
  }
  __device__ __forceinline__ std::uint32_t column_of(int chunk) const {
    return threadIdx.x % 4 * 16 + column_step(chunk);
  }

  // body(first row, first column, fragments): 16 rows by 32 columns that the warp has together, as
  // tensor cores leave them.
  template <class Body>
  __device__ __forceinline__ void for_each_block(const Body& body) const {
#pragma unroll
    for (int m = 0; m < Tile::kBlocksOfRows; ++m) {
#pragma unroll
      for (std::uint32_t g = 0; g < Tile::kColumns / 32; ++g)
        body(first_row(m), g * 32, sums_[m][g]);
    }
  }

 private:
  // Of this warp.
  static __device__ __forceinline__ std::uint32_t first_row(int m) {
    return (threadIdx.x / 128 * Tile::kBlocksOfRows + m) * 64 + threadIdx.x / 32 % 4 * 16;
  }

  std::int32_t sums_[Tile::kBlocksOfRows][Tile::kColumns / 32][4][4];
};

}  // namespace nibble::cuda
