// SPDX-License-Identifier: Apache-2.0
// How products of networks that no longer learn are cut into tiles, where the copy engine brings
// their operands.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cuda/product.h"

namespace nibble::cuda {

// Bytes of depth that are multiplied at a time, where copies bring segments.
constexpr std::uint32_t finish_depth(std::uint32_t segment) {
  return segment < 64 ? 64 : segment;
}

struct FinishCut {
  TileSize tile;
  std::uint32_t planes = 1;  // into which the depth is cut, of tiles like kSplitTile alone
  bool operator==(const FinishCut&) const = default;
};
inline constexpr TileSize kSplitTile = {64, 64};

// A product as cutting sees it.
struct FinishExtent {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t segment = 0;
  std::uint32_t segments = 0;  // of all taps
  FinishForm form = FinishForm::none;

  std::uint32_t stages() const {
    const std::uint32_t depth = finish_depth(segment);
    return (segments * segment + depth - 1) / depth;
  }
};

// All tiles that there are for copies of a segment and a law.
std::vector<TileSize> finish_tiles(std::uint32_t segment, FinishForm form);

// Without measuring: small tiles for few of them, large ones where products are deep.
FinishCut usual_cut(const FinishExtent& extent, std::uint32_t multiprocessors);
// Of a tile that was chosen: cut into planes where that keeps more multiprocessors busy.
FinishCut cut_into(const TileSize& tile, const FinishExtent& extent, std::uint32_t multiprocessors);

}  // namespace nibble::cuda
