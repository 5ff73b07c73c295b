// SPDX-License-Identifier: Apache-2.0
// The sums of a gradient while they grow: tiles as products write them, for every part of the
// terms.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cpu/gradient_split.h"
#include "backend/cpu/weight_gradient.h"
#include "core/buffer_pool.h"

namespace nibble::inline backend {

// [part of the terms][row block][column block][tap], each a tile of 16 rows and 64 columns. A part
// that no term went into holds nothing, not even zeros.
class GradientTiles {
 public:
  static constexpr std::int64_t kColumns = PackedWeights::kBlock;

  GradientTiles(const GradientExtent& extent, std::int64_t parts, BufferPool& pool);

  std::int32_t* at(std::int64_t part, std::int64_t row_block, std::int64_t column_block,
                   std::int64_t tap) const {
    return memory_.as<std::int32_t>() +
           (block_of(part, row_block, column_block) * extent_.taps + tap) * kSize;
  }

  bool is_used(std::int64_t part, std::int64_t row_block, std::int64_t column_block) const {
    return used_[static_cast<std::size_t>(block_of(part, row_block, column_block))] != 0;
  }
  void use(std::int64_t part, std::int64_t row_block, std::int64_t column_block) {
    used_[static_cast<std::size_t>(block_of(part, row_block, column_block))] = 1;
  }

  void clear(std::int64_t part, std::int64_t row_block, std::int64_t column_block,
             std::int64_t tap) const;

  // Adds the parts up, without what only fills tiles up, into wide sums or as narrow ones. Nothing
  // is used afterwards.
  void write(const WeightShape& shape, GradientSums& sums);

 private:
  static constexpr std::int64_t kSize = kGroup * kColumns;

  std::int64_t block_of(std::int64_t part, std::int64_t row_block,
                        std::int64_t column_block) const {
    return (part * extent_.row_blocks + row_block) * extent_.column_blocks + column_block;
  }
  void write_row(const WeightShape& shape, std::int64_t out, GradientSums& sums) const;

  GradientExtent extent_;
  std::int64_t parts_;
  Buffer memory_;
  std::vector<std::uint8_t> used_;  // bytes, as tasks write them side by side
};

}  // namespace nibble::inline backend
