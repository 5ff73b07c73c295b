// SPDX-License-Identifier: Apache-2.0
// Windows times filters in a network that no longer learns: the copy engine brings operands, and
// sums end by the rescale law in the registers that they were made in.
#pragma once

#include <algorithm>

#include "backend/cuda/finish_cut.h"
#include "backend/cuda/finish_laws.cuh"
#include "backend/cuda/window_parts.cuh"

namespace nibble::cuda {

struct alignas(64) FinishedJob {
  TensorMap rows;
  TensorMap columns;
  TensorMap added;
  FinishedProduct job;
  std::uint8_t unused[64 - sizeof(FinishedProduct) % 64];
};

// Addends of a tile as the copy engine brings them: as a stage of their own behind the depth, some
// columns of all rows after another. Lines are swizzled as those of operands are.
template <class Tile>
struct AddedStage {
  static constexpr std::uint32_t kColumns = added_columns(Tile::kColumns);
  static constexpr std::uint32_t kPartBytes = Tile::kRows * kColumns;
  static constexpr std::uint32_t kParts = Tile::kColumns / kColumns;
  static_assert(kParts * kPartBytes <= Tile::kStageBytes);

  // By one thread.
  static __device__ __forceinline__ void copy(const StageMemory<Tile>& memory,
                                              StageCursor<Tile>& cursor, const AddedCopies& copies,
                                              const TensorMap& map, std::uint32_t first_row,
                                              std::uint32_t first_column) {
    const std::uint32_t image = copies.pixels.quotient(first_row);
    const std::uint32_t pixel = copies.pixels.remainder(first_row, image);
    const std::uint32_t y = copies.width.quotient(pixel);
    memory.empty(cursor.stage).wait(cursor.parity ^ 1);
    CopyBarrier& full = memory.full(cursor.stage);
    full.arrive_and_expect(kParts * kPartBytes);
#pragma unroll
    for (std::uint32_t i = 0; i < kParts; ++i) {
      std::int8_t* to = memory.rows(cursor.stage, 0) + i * kPartBytes;
      const auto column = static_cast<std::int32_t>(first_column + i * kColumns);
      if (copies.is_flat != 0) {
        copy_box(map, full, to, column, static_cast<std::int32_t>(first_row));
      } else {
        copy_windows(map, full, to, column,
                     static_cast<std::int32_t>(copies.width.remainder(pixel, y)),
                     static_cast<std::int32_t>(y), static_cast<std::int32_t>(image), 0, 0);
      }
    }
    cursor.advance();
  }

  // This thread's part of a chunk of the tile.
  static __device__ __forceinline__ uint4 at(const std::int8_t* stage, int chunk) {
    using Sums = StagedSums<Tile>;
    const std::uint32_t row = Sums::row_of(chunk);
    const std::uint32_t column = Sums::column_step(chunk);
    const std::uint32_t place = column % kColumns / kChunk + threadIdx.x % 4;
    const std::uint32_t turned = place ^ (kColumns == 128 ? row % 8 : row / 2 % 4);
    return *reinterpret_cast<const uint4*>(stage + column / kColumns * kPartBytes + row * kColumns +
                                           turned * kChunk);
  }
};

// Rows of a tile that follow one another in the result.
struct FollowingRows {
  std::uint32_t first;
  std::uint32_t end;

  __device__ __forceinline__ bool has(std::uint32_t row) const { return first + row < end; }
  __device__ __forceinline__ std::uint32_t at(std::uint32_t row) const { return first + row; }
};

// What a thread does with its chunks of a tile, whose rows are those of the result that Rows says.
template <class Tile, class Law, class Rows>
class FinishedTile {
 public:
  using Sums = StagedSums<Tile>;

  __device__ __forceinline__ FinishedTile(const SumFinish& law, const Rows& rows,
                                          std::uint32_t first_column)
      : law_(law),
        rows_(rows),
        row_(Sums::row_of(0)),
        column_(first_column + Sums::column_of(0)),
        out_(static_cast<std::int8_t*>(law.out) + column_) {}

  // added(chunk): the addends of a chunk.
  template <class Added>
  __device__ __forceinline__ void end(Sums& sums, const Added& added) const {
    if (law_.outside.sums != nullptr) add_outside(sums);
#pragma unroll
    for (int g = 0; g < Sums::kGroups; ++g) {
      const std::uint32_t column = column_ + g * 64;
      if (column >= law_.pitch) break;
      uint4 words[kRowsOfThread];
#pragma unroll
      for (int r = 0; r < kRowsOfThread; ++r) {
        words[r] = Law::kIsAdded ? added(chunk_of(g, r)) : make_uint4(0, 0, 0, 0);
      }
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const typename Law::Columns columns(law_, column + 4 * q);
#pragma unroll
        for (int r = 0; r < kRowsOfThread; ++r) {
          const int chunk = chunk_of(g, r);
          std::uint32_t& word = word_of(words[r], q);
          word = Law::word(law_, columns, word,
                           {{sums.at(chunk, 4 * q), sums.at(chunk, 4 * q + 1),
                             sums.at(chunk, 4 * q + 2), sums.at(chunk, 4 * q + 3)}});
        }
      }
#pragma unroll
      for (int r = 0; r < kRowsOfThread; ++r) store(chunk_of(g, r), words[r]);
    }
  }

 private:
  static constexpr int kRowsOfThread = 2 * Tile::kBlocksOfRows;

  static __device__ __forceinline__ constexpr int chunk_of(int group, int r) {
    return r / 2 * 2 * Sums::kGroups + 2 * group + r % 2;
  }
  // Few rows are at the edge of a picture.
  __device__ __forceinline__ void add_outside(Sums& sums) const {
#pragma unroll
    for (int r = 0; r < kRowsOfThread; ++r) {
      const std::uint32_t of_tile = row_ + Sums::row_step(chunk_of(0, r));
      if (!rows_.has(of_tile)) continue;
      const std::uint32_t row = rows_.at(of_tile);
      const std::uint32_t pixel = law_.pixels.remainder(row, law_.pixels.quotient(row));
      const std::int32_t begin = __ldg(law_.outside.rows + pixel);
      if (begin == 0) continue;
#pragma unroll
      for (int g = 0; g < Sums::kGroups; ++g) {
        const std::uint32_t column = column_ + g * 64;
        if (column >= law_.pitch) break;
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const Quad lacking = Quad::constant_at(law_.outside.sums + begin + column + 4 * q);
#pragma unroll
          for (int i = 0; i < 4; ++i) sums.at(chunk_of(g, r), 4 * q + i) += lacking.at[i];
        }
      }
    }
  }
  static __device__ __forceinline__ std::uint32_t& word_of(uint4& chunk, int q) {
    return q == 0 ? chunk.x : q == 1 ? chunk.y : q == 2 ? chunk.z : chunk.w;
  }
  __device__ __forceinline__ void store(int chunk, const uint4& bytes) const {
    const std::uint32_t of_tile = row_ + Sums::row_step(chunk);
    if (!rows_.has(of_tile)) return;
    std::uint32_t row = rows_.at(of_tile);
    if (law_.out_borders != 0) row += law_.pixels.quotient(row);
    store_chunk(out_, std::size_t{row} * law_.pitch + Sums::column_step(chunk), bytes);
  }

  const SumFinish& law_;
  Rows rows_;
  std::uint32_t row_;  // of the tile: of the first chunk
  std::uint32_t column_;
  std::int8_t* out_;  // of the first chunk's columns
};

// The threads that multiply, of a block with one team.
template <class Tile>
__device__ __forceinline__ void meet_multiplying() {
  static_assert(Tile::Team::kTeams == 1);
  asm volatile("bar.sync 1, %0;" ::"n"(Tile::kMultiplying) : "memory");
}

// Small tiles are for products that have few of them.
template <class Tile>
inline constexpr bool kMaySplit =
    Tile::kRows* Tile::kColumns == kSplitTile.rows* kSplitTile.columns;

// Blocks of all planes add up their sums of a tile. The last one has all of them then, and leaves
// zeros behind; whether this is it.
template <class Tile>
__device__ __forceinline__ bool has_all_sums(StagedSums<Tile>& sums, const SharedSums& shared,
                                             std::uint32_t tile) {
  __shared__ bool is_last;
  std::int32_t* own =
      shared.sums + std::size_t{tile} * (Tile::kRows * Tile::kColumns) + threadIdx.x;
  sums.for_each_register(
      [&](int i, std::int32_t& sum) { atomicAdd(own + i * Tile::kMultiplying, sum); });
  __threadfence();
  meet_multiplying<Tile>();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(shared.arrived + tile, 1u) + 1 == gridDim.y;
    if (is_last) shared.arrived[tile] = 0;
  }
  meet_multiplying<Tile>();
  if (!is_last) return false;
  __threadfence();
  sums.for_each_register([&](int i, std::int32_t& sum) {
    sum = __ldcg(own + i * Tile::kMultiplying);
    own[i * Tile::kMultiplying] = 0;
  });
  return true;
}

// The first stages of a block: weights are asked for while those before it still compute. How many.
template <class Tile>
__device__ __forceinline__ std::uint32_t begin_stages(const StageMemory<Tile>& memory,
                                                      StageCursor<Tile>& cursor,
                                                      std::uint32_t stages,
                                                      WindowParts<Tile>& parts) {
  const std::uint32_t count = min(stages, Tile::kStages);
  WindowParts<Tile> ahead = parts;
#pragma unroll 1
  for (std::uint32_t i = 0; i < count; ++i) {
    memory.full(i).arrive_and_expect(parts.stage_bytes());
#pragma unroll
    for (std::uint32_t part = 0; part < Tile::kParts; ++part) {
      ahead.columns(memory.columns(i, part), memory.full(i));
      ahead.advance();
    }
  }
  wait_for_earlier();
#pragma unroll 1
  for (std::uint32_t i = 0; i < count; ++i) {
#pragma unroll
    for (std::uint32_t part = 0; part < Tile::kParts; ++part) {
      parts.rows(memory.rows(i, part), memory.full(i));
      parts.advance();
    }
    cursor.advance();
  }
  return count;
}

// Planes of blocks have parts of the depth.
template <class Tile, class Law>
__global__ void __launch_bounds__(Tile::kThreads, Tile::Team::kBlocks)
    finished_windows(const __grid_constant__ FinishedJob staged) {
  let_next_begin();
  const FinishedProduct& job = staged.job;
  const StageMemory<Tile> memory(staged_memory);
  StageCursor<Tile> cursor;
  const std::uint32_t first = blockIdx.y * job.shape.depths;
  const std::uint32_t stages = min(job.shape.depths, stages_of<Tile>(job.copies) - first);
  if (threadIdx.x >= Tile::kMultiplying) {
    keep_few_registers<Tile>();
    if (!Tile::copies()) return;
    prefetch(staged.rows);
    prefetch(staged.columns);
    bool is_first = true;
    for_each_tile_of<Tile>(job.shape, [&](std::uint32_t row, std::uint32_t column) {
      WindowParts<Tile> parts(job.copies, staged.rows, staged.columns, row, column);
      parts.skip(first * Tile::kParts);
      std::uint32_t begun = 0;
      if (is_first) begun = begin_stages(memory, cursor, stages, parts);
      is_first = false;
      copy_stages(memory, cursor, stages - begun, parts, parts.stage_bytes());
      if constexpr (Law::kIsAdded)
        AddedStage<Tile>::copy(memory, cursor, job.added, staged.added, row, column);
    });
  } else {
    take_many_registers<Tile>();
    wait_for_earlier();
    for_each_tile_of<Tile>(job.shape, [&](std::uint32_t row, std::uint32_t column) {
      StagedSums<Tile> sums;
      sums.multiply(memory, cursor, stages);
      bool is_whole = true;
      if constexpr (kMaySplit<Tile>)
        is_whole = gridDim.y == 1 || has_all_sums(sums, job.shared, blockIdx.x);
      const std::int8_t* added = nullptr;
      if (Law::kIsAdded) {
        memory.full(cursor.stage).wait(cursor.parity);
        added = memory.rows(cursor.stage, 0);
      }
      if (is_whole) {
        const FollowingRows rows{row, min(job.shape.a.rows, row + job.shape.band_rows)};
        FinishedTile<Tile, Law, FollowingRows>(job.finish, rows, column).end(sums, [&](int chunk) {
          return AddedStage<Tile>::at(added, chunk);
        });
      }
      if (added != nullptr) {
        __syncwarp();
        if (threadIdx.x % 32 == 0) memory.empty(cursor.stage).arrive();
        cursor.advance();
      }
    });
  }
}

template <class Tile, class Law>
void queue_finished(DeviceQueue& queue, const FinishedProduct& job) {
  // As many teams as are at work at a time, all with as many tiles as the others, or one less.
  constexpr std::uint32_t kTeams = Tile::Team::kTeams;
  const std::uint32_t most = queue.multiprocessors() * Tile::Team::kBlocks * kTeams;
  const std::uint32_t rounds = (job.shape.tiles + most - 1) / most;
  const std::uint32_t teams =
      job.planes > 1 ? job.shape.tiles : (job.shape.tiles + rounds - 1) / rounds;
  const FinishedJob staged{job.copies.rows, job.copies.columns, job.added.map, job, {}};
  queue_staged<Tile>(queue, finished_windows<Tile, Law>, staged, (teams + kTeams - 1) / kTeams,
                     job.planes);
}

template <class Tile, template <bool> class Law>
void queue_added(DeviceQueue& queue, const FinishedProduct& job) {
  if (job.finish.addend == nullptr) return queue_finished<Tile, Law<false>>(queue, job);
  queue_finished<Tile, Law<true>>(queue, job);
}

// In a tile that all laws have.
template <class Tile>
void queue_by_law(DeviceQueue& queue, const FinishedProduct& job) {
  switch (job.finish.form) {
    case FinishForm::half_relu:
      return queue_added<Tile, HalfReluLaw>(queue, job);
    case FinishForm::half:
      return queue_added<Tile, HalfLaw>(queue, job);
    default:
      return queue_added<Tile, WideLaw>(queue, job);
  }
}

// By rows and columns. Stages are as deep as segments, so that few are filled up.
template <int kSegment>
inline constexpr std::uint32_t kFinishDepth = finish_depth(kSegment);
template <int kSegment>
using Tile64x64 = StagedTile<1, 64, kSegment, StagedTeam<1, 32, 3>,
                             4 * 128 / kFinishDepth<kSegment>, kFinishDepth<kSegment>>;
template <int kSegment>
using Tile128x64 = StagedTile<1, 64, kSegment, StagedTeam<2, 32, 3>,
                              3 * 128 / kFinishDepth<kSegment>, kFinishDepth<kSegment>>;
// Two teams, of one group of warps each.
template <int kSegment>
using Tile128x128 = StagedTile<2, 128, kSegment, StagedTeam<1, 128, 1, 2>,
                               3 * 128 / kFinishDepth<kSegment>, kFinishDepth<kSegment>>;

}  // namespace nibble::cuda
