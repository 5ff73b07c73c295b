// SPDX-License-Identifier: Apache-2.0
// Tiles of sums on tensor cores of Hopper: one warp asks the copy engine for the depth of a tile,
// stage after stage, and eight warps multiply what has arrived. Who copies runs ahead of who
// multiplies, also into the next tile while this one's sums are rounded.
//
// A stage is some bytes of depth, in parts of kSegment bytes: of a part first all rows, then all
// columns, each a line of kSegment swizzled bytes.
#pragma once

#include "backend/cuda/tma.cuh"
#include "backend/cuda/wgmma.cuh"

namespace nibble::cuda {

inline constexpr std::uint32_t kStageDepth = 128;

// Who works on tiles: groups of four warps that multiply, and threads of whom one copies. Where
// several teams or blocks share a multiprocessor, some multiply while others end their sums.
template <std::uint32_t kGroups_, std::uint32_t kCopying_, std::uint32_t kBlocks_,
          std::uint32_t kTeams_ = 1>
struct StagedTeam {
  static constexpr std::uint32_t kGroups = kGroups_;    // of a team
  static constexpr std::uint32_t kCopying = kCopying_;  // of a block: a warp a team, or more
  static constexpr std::uint32_t kBlocks = kBlocks_;    // of a multiprocessor
  static constexpr std::uint32_t kTeams = kTeams_;      // of a block, each with tiles of its own
};
using WholeTeam = StagedTeam<2, 128, 1>;

// Which rows of a result the rows of a tile are.
struct TileRows {
  std::uint32_t first;
  std::uint32_t step;

  __device__ __forceinline__ std::uint32_t at(std::uint32_t row) const {
    return first + row * step;
  }
};

template <int kBlocksOfRows_, int kWidth, int kSegmentBytes, class Team_ = WholeTeam,
          std::uint32_t kStages_ = 4, std::uint32_t kDepth = kStageDepth>
struct StagedTile {
  using Team = Team_;
  static constexpr int kBlocksOfRows = kBlocksOfRows_;  // of 64, for each group of warps
  static constexpr std::uint32_t kRows = 64 * Team::kGroups * kBlocksOfRows;
  static constexpr std::uint32_t kColumns = kWidth;
  static constexpr std::uint32_t kSegment = kSegmentBytes;
  static constexpr std::uint32_t kParts = kDepth / kSegment;  // of a stage
  static constexpr std::uint32_t kPartBytes = (kRows + kColumns) * kSegment;
  static constexpr std::uint32_t kStages = kStages_;
  static constexpr std::uint32_t kTeamThreads = 128 * Team::kGroups;          // that multiply
  static constexpr std::uint32_t kMultiplying = kTeamThreads * Team::kTeams;  // of all teams
  static constexpr std::uint32_t kThreads = kMultiplying + Team::kCopying;    // with who copies
  static constexpr bool kHandsRegistersOver = Team::kBlocks == 1;
  // Of a warp, for sums on their way; who shares a multiprocessor has none.
  static constexpr std::uint32_t kSlabBytes = Team::kBlocks * Team::kTeams == 1 ? 16 * 128 : 0;
  static constexpr std::uint32_t kStageBytes = kParts * kPartBytes;
  static constexpr std::uint32_t kNotes = 2 * kStages;  // no more tiles are under way at once
  static constexpr std::uint32_t kTeamBytes =
      (kStages * kStageBytes + kTeamThreads / 32 * kSlabBytes +
       2 * kStages * static_cast<std::uint32_t>(sizeof(CopyBarrier)) +
       kNotes * static_cast<std::uint32_t>(sizeof(std::uint32_t)) + 1023) /
      1024 * 1024;
  static constexpr std::uint32_t kBytes = 1024 + Team::kTeams * kTeamBytes;

  // Of this thread: who multiplies, then a warp of who copies for each team.
  static __device__ __forceinline__ std::uint32_t team() {
    if constexpr (Team::kTeams == 1) return 0;
    return threadIdx.x < kMultiplying ? threadIdx.x / kTeamThreads
                                      : (threadIdx.x - kMultiplying) / 32;
  }
  // Whether it is the thread that copies for its team.
  static __device__ __forceinline__ bool copies() {
    return threadIdx.x % 32 == 0 && threadIdx.x >= kMultiplying &&
           threadIdx.x < kMultiplying + 32 * Team::kTeams;
  }
};

// Registers go by groups of four warps: who copies leaves most of his to who multiplies.
template <class Tile>
__device__ __forceinline__ void keep_few_registers() {
  if constexpr (Tile::kHandsRegistersOver) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
}
template <class Tile>
__device__ __forceinline__ void take_many_registers() {
  if constexpr (Tile::kHandsRegistersOver) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
}

// Shared memory of a team, whose stages begin at a multiple of 1024.
template <class Tile>
class StageMemory {
 public:
  __device__ explicit StageMemory(std::int8_t* memory)
      : stages_(memory + (((shared_address(memory) + 1023) & ~1023u) - shared_address(memory)) +
                Tile::team() * Tile::kTeamBytes) {
    if (threadIdx.x < Tile::kMultiplying && threadIdx.x % Tile::kTeamThreads == 0) {
      for (std::uint32_t i = 0; i < Tile::kStages; ++i) {
        full(i).start(1);
        empty(i).start(Tile::kTeamThreads / 32);
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
    return slabs() + threadIdx.x % Tile::kTeamThreads / 32 * Tile::kSlabBytes;
  }
  __device__ std::int8_t* slab_of_four() const {  // of the four warps that multiply together
    return slabs() + threadIdx.x % Tile::kTeamThreads / 128 * 4 * Tile::kSlabBytes;
  }
  // What who copies tells who multiplies of a tile, before the tile's first stage is full.
  __device__ std::uint32_t& note(std::uint32_t tile) const {
    return reinterpret_cast<std::uint32_t*>(barriers() + 2 * Tile::kStages)[tile % Tile::kNotes];
  }
  __device__ CopyBarrier& full(std::uint32_t stage) const { return barriers()[stage]; }
  __device__ CopyBarrier& empty(std::uint32_t stage) const {
    return barriers()[Tile::kStages + stage];
  }

 private:
  __device__ std::int8_t* slabs() const { return stages_ + Tile::kStages * Tile::kStageBytes; }
  __device__ CopyBarrier* barriers() const {
    return reinterpret_cast<CopyBarrier*>(slabs() + Tile::kTeamThreads / 32 * Tile::kSlabBytes);
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
                                            Copies& copies,
                                            std::uint32_t stage_bytes = Tile::kStageBytes) {
#pragma unroll 1
  for (std::uint32_t i = 0; i < stages; ++i) {
    memory.empty(cursor.stage).wait(cursor.parity ^ 1);
    CopyBarrier& full = memory.full(cursor.stage);
    full.arrive_and_expect(stage_bytes);
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
    multiply_stage<true>(memory, cursor);
    std::uint32_t last = cursor.stage;  // the stage whose products may be under way
    cursor.advance();
#pragma unroll 1
    for (std::uint32_t i = 1; i < stages; ++i) {
      multiply_stage<false>(memory, cursor);
      wait_for_products<1>();
      if (threadIdx.x % 32 == 0) memory.empty(last).arrive();
      last = cursor.stage;
      cursor.advance();
    }
    wait_for_products<0>();
    if (threadIdx.x % 32 == 0) memory.empty(last).arrive();
  }

  // Adds kSegment bytes of depth that are there: rows and columns of the tile by their descriptors,
  // 64 rows `block` behind those before.
  template <bool kBegins>
  __device__ __forceinline__ void add_depth(std::uint64_t rows, std::uint64_t block,
                                            std::uint64_t columns) {
    rows += group() * Tile::kBlocksOfRows * block;
#pragma unroll
    for (std::uint64_t k = 0; k < Tile::kSegment / 32; ++k) {
#pragma unroll
      for (int m = 0; m < Tile::kBlocksOfRows; ++m) {
        if (kBegins && k == 0) {
          begin_tiles(sums_[m], rows + m * block, columns);
        } else {
          multiply_tiles(sums_[m], rows + m * block + k * 2, columns + k * 2, true);
        }
      }
    }
  }

  // Columns may be brought so that column 8·j + 2·t + e of 64 is the one that belongs at
  // 16·t + 2·j + e: a thread then has chunks of 16 sums that belong side by side, and a quad 64.
  static constexpr std::uint32_t kRows = Tile::kRows;
  static constexpr std::uint32_t kColumns = Tile::kColumns;
  static constexpr int kGroups = static_cast<int>(Tile::kColumns / 64);
  static constexpr int kChunks = Tile::kBlocksOfRows * kGroups * 2;

  __device__ __forceinline__ std::int32_t& at(int chunk, int j) {
    return sums_[chunk / 2 / kGroups][2 * (chunk / 2 % kGroups) + j / 8][j / 2 % 4]
                [2 * (chunk % 2) + j % 2];
  }
  __device__ __forceinline__ std::int32_t at(int chunk, int j) const {
    return const_cast<StagedSums*>(this)->at(chunk, j);
  }
  // Rows and columns from the first chunk of this thread on.
  static __device__ __forceinline__ constexpr std::uint32_t row_step(int chunk) {
    return static_cast<std::uint32_t>(chunk / 2 / kGroups * 64 + chunk % 2 * 8);
  }
  static __device__ __forceinline__ constexpr std::uint32_t column_step(int chunk) {
    return static_cast<std::uint32_t>(chunk / 2 % kGroups * 64);
  }
  static __device__ __forceinline__ std::uint32_t row_of(int chunk) {
    return first_row(0) + threadIdx.x % 32 / 4 + row_step(chunk);
  }
  static __device__ __forceinline__ std::uint32_t column_of(int chunk) {
    return threadIdx.x % 4 * 16 + column_step(chunk);
  }

  __device__ __forceinline__ void double_all() {
    for_each_register([](int, std::int32_t& sum) { sum *= 2; });
  }
  // body(number, sum) of every sum that this thread has.
  template <class Body>
  __device__ __forceinline__ void for_each_register(const Body& body) {
#pragma unroll
    for (int m = 0; m < Tile::kBlocksOfRows; ++m) {
#pragma unroll
      for (int i = 0; i < static_cast<int>(Tile::kColumns) / 2; ++i)
        body(m * static_cast<int>(Tile::kColumns) / 2 + i, sums_[m][i / 16][i / 4 % 4][i % 4]);
    }
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
  static constexpr std::uint64_t kBlock = 64 * Tile::kSegment / 16;  // of rows, in a descriptor

  template <bool kBegins>
  __device__ __forceinline__ void multiply_stage(const StageMemory<Tile>& memory,
                                                 const StageCursor<Tile>& cursor) {
    memory.full(cursor.stage).wait(cursor.parity);
    begin_multiplying();
#pragma unroll
    for (std::uint32_t part = 0; part < Tile::kParts; ++part) {
      const std::uint32_t address = shared_address(memory.rows(cursor.stage, part));
      const std::uint64_t rows = tile_descriptor<Tile::kSegment>(address);
      const std::uint64_t columns =
          tile_descriptor<Tile::kSegment>(address + Tile::kRows * Tile::kSegment);
      if (kBegins && part == 0) {
        add_depth<true>(rows, kBlock, columns);
      } else {
        add_depth<false>(rows, kBlock, columns);
      }
    }
    end_multiplying();
  }

  // Of this warp.
  static __device__ __forceinline__ std::uint32_t first_row(int m) {
    return (group() * Tile::kBlocksOfRows + m) * 64 + threadIdx.x / 32 % 4 * 16;
  }
  static __device__ __forceinline__ std::uint32_t group() {
    return threadIdx.x / 128 % Tile::Team::kGroups;
  }

  std::int32_t sums_[Tile::kBlocksOfRows][Tile::kColumns / 32][4][4];
};

}  // namespace nibble::cuda
