// SPDX-License-Identifier: Apache-2.0
// Chooses tiles.
#include "backend/cuda/finish_cut.h"

#include <algorithm>

namespace nibble::cuda {
namespace {

constexpr std::uint32_t kFewStages = 6;    // that one block waits for without loss
constexpr std::uint32_t kDeepBytes = 512;  // products are then worth large tiles

std::uint32_t tiles_of(const TileSize& tile, const FinishExtent& extent) {
  return (extent.rows + tile.rows - 1) / tile.rows *
         ((extent.columns + tile.columns - 1) / tile.columns);
}

bool has_large_tiles(std::uint32_t segment, FinishForm form) {
  return segment == 128 && form == FinishForm::half_relu;
}

}  // namespace

std::vector<TileSize> finish_tiles(std::uint32_t segment, FinishForm form) {
  std::vector<TileSize> tiles = {kSplitTile, {128, 64}};
  if (segment >= 64) tiles.push_back({128, 128});
  if (has_large_tiles(segment, form)) tiles.insert(tiles.end(), {{128, 256}, {256, 128}});
  return tiles;
}

FinishCut cut_into(const TileSize& tile, const FinishExtent& extent,
                   std::uint32_t multiprocessors) {
  FinishCut cut{tile, 1};
  if (tile != kSplitTile) return cut;
  const std::uint32_t most = 2 * multiprocessors / std::max(tiles_of(tile, extent), 1U);
  const std::uint32_t worthwhile = (extent.stages() + kFewStages - 1) / kFewStages;
  cut.planes = std::max(std::min(most, worthwhile), 1U);
  return cut;
}

FinishCut usual_cut(const FinishExtent& extent, std::uint32_t multiprocessors) {
  const auto fills = [&](const TileSize& tile) {
    return tiles_of(tile, extent) >= 2 * multiprocessors;
  };
  const bool is_deep = extent.segments * extent.segment >= kDeepBytes;
  if (has_large_tiles(extent.segment, extent.form) && is_deep && extent.columns > 64) {
    const TileSize large{256, 128};
    if (fills(large)) return {large, 1};
  }
  if (extent.segment >= 64 && extent.columns > 64 && fills({128, 128})) return {{128, 128}, 1};
  if (fills({128, 64})) return {{128, 64}, 1};
  return cut_into(kSplitTile, extent, multiprocessors);
}

}  // namespace nibble::cuda
