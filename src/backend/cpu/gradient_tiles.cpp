// SPDX-License-Identifier: Apache-2.0
// Adds up the tiles of a gradient's sums.
#include "backend/cpu/gradient_tiles.h"

#include <algorithm>

#include "kernels/integer_loops/integer_loops.h"
#include "nibble/core/parallel.h"

namespace nibble::inline backend {
namespace {

constexpr std::int64_t kLeastWritten = 16 * 1024;  // sums that are worth a thread

}  // namespace

GradientTiles::GradientTiles(const GradientExtent& extent, std::int64_t parts, BufferPool& pool)
    : extent_(extent),
      parts_(parts),
      memory_(pool.take<std::int8_t>(parts * extent.bytes())),
      used_(static_cast<std::size_t>(parts * extent.row_blocks * extent.column_blocks)) {}

void GradientTiles::clear(std::int64_t part, std::int64_t row_block, std::int64_t column_block,
                          std::int64_t tap) const {
  std::fill_n(at(part, row_block, column_block, tap), kSize, 0);
}

void GradientTiles::write(const WeightShape& shape, GradientSums& sums) {
  const auto grain = static_cast<std::size_t>(kLeastWritten / (shape.taps * shape.in) + 1);
  parallel_for(static_cast<std::size_t>(shape.out), grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t out = begin; out < end; ++out)
      write_row(shape, static_cast<std::int64_t>(out), sums);
  });
  std::ranges::fill(used_, std::uint8_t{0});
}

void GradientTiles::write_row(const WeightShape& shape, std::int64_t out,
                              GradientSums& sums) const {
  const std::int64_t first = out / (shape.out / shape.groups) * shape.in;  // column
  const std::int64_t end = first + shape.in;
  const IntegerLoops& loops = integer_loops();
  for (std::int64_t tap = 0; tap < shape.taps; ++tap) {
    std::int64_t to = (out * shape.taps + tap) * shape.in;
    std::int64_t count = 0;
    for (std::int64_t column = first; column < end; column += count, to += count) {
      count = std::min(end, round_up(column + 1, kColumns)) - column;
      bool is_first = true;
      for (std::int64_t part = 0; part < parts_; ++part) {
        if (!is_used(part, out / kGroup, column / kColumns)) continue;
        const std::int32_t* from = at(part, out / kGroup, column / kColumns, tap) +
                                   out % kGroup * kColumns + column % kColumns;
        if (sums.is_wide) {
          loops.add_sums(sums.wide.data() + to, from, static_cast<std::size_t>(count));
        } else if (is_first) {
          std::copy_n(from, count, sums.narrow.data() + to);
        } else {
          std::int32_t* sum = sums.narrow.data() + to;
          for (std::int64_t i = 0; i < count; ++i) sum[i] += from[i];
        }
        is_first = false;
      }
    }
  }
}

}  // namespace nibble::inline backend
