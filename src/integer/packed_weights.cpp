// SPDX-License-Identifier: Apache-2.0
// Packs weights for products.
#include "integer/packed_weights.h"

#include <algorithm>
#include <cstring>

#include "integer/block_tensor.h"
#include "nibble/core/parallel.h"
#include "nibble/kernels/integer_loops.h"
#include "nibble/kernels/product8.h"

namespace nibble {

PackedWeights::PackedWeights(const WeightShape& shape, Direction direction)
    : shape_(shape),
      direction_(direction),
      depth_(round_up(direction == Direction::forward ? shape.all_in() : shape.out, 4)),
      columns_(direction == Direction::forward ? shape.out : shape.all_in()),
      tap_bytes_(depth_ * round_up(columns_, kProductColumns)),
      memory_(DType::i8, {shape.taps * tap_bytes_}) {}

std::int64_t PackedWeights::width(std::int64_t block) const {
  return std::min(kBlock, round_up(columns_ - block * kBlock, kProductColumns));
}

std::int8_t* PackedWeights::at(std::int64_t tap, std::int64_t block) const {
  return reinterpret_cast<std::int8_t*>(memory_.data()) + tap * tap_bytes_ +
         block * kBlock * depth_;
}

const std::int8_t* PackedWeights::panel(std::int64_t tap, std::int64_t block) const {
  return at(tap, block);
}

void PackedWeights::pack(std::span<const std::int8_t> weights) {
  const auto panels = static_cast<std::size_t>(shape_.taps * blocks());
  parallel_tasks(panels, [&](std::size_t task) {
    const std::int64_t tap = static_cast<std::int64_t>(task) % shape_.taps;
    const std::int64_t block = static_cast<std::int64_t>(task) / shape_.taps;
    const auto bytes = static_cast<std::size_t>(depth_ * width(block));
    std::memset(at(tap, block), product8_path().b_flip, bytes);  // zeros
    if (direction_ == Direction::forward) {
      pack_forward(tap, block, weights);
    } else {
      pack_backward(tap, block, weights);
    }
  });
}

// Four inputs of one output lie side by side already.
void PackedWeights::pack_forward(std::int64_t tap, std::int64_t block,
                                 std::span<const std::int8_t> weights) {
  const std::int64_t step = width(block) * 4;
  const std::uint8_t flip = product8_path().b_flip;
  std::uint32_t flips = 0;
  std::memset(&flips, flip, sizeof flips);
  std::int8_t* panel = at(tap, block);
  const std::int64_t end = std::min(kBlock, columns_ - block * kBlock);
  for (std::int64_t j = 0; j < end; ++j) {
    const std::int64_t out = block * kBlock + j;
    const std::int8_t* from = weights.data() + (out * shape_.taps + tap) * shape_.in;
    const std::int64_t first = out / (shape_.out / shape_.groups) * shape_.in;
    std::int64_t i = 0;
    if (first % 4 == 0) {
      for (; i + 4 <= shape_.in; i += 4) {
        std::uint32_t quad = 0;
        std::memcpy(&quad, from + i, sizeof quad);
        quad ^= flips;
        std::memcpy(panel + (first + i) / 4 * step + j * 4, &quad, sizeof quad);
      }
    }
    for (; i < shape_.in; ++i) {
      const std::int64_t k = first + i;
      panel[k / 4 * step + j * 4 + k % 4] = static_cast<std::int8_t>(from[i] ^ flip);
    }
  }
}

// Columns are inputs, which lie side by side; four outputs are interleaved.
void PackedWeights::pack_backward(std::int64_t tap, std::int64_t block,
                                  std::span<const std::int8_t> weights) {
  const std::int64_t step = width(block) * 4;
  const std::uint8_t flip = product8_path().b_flip;
  std::int8_t* panel = at(tap, block);
  const std::int64_t end = std::min(kBlock, columns_ - block * kBlock);
  const auto row = [&](std::int64_t out) {
    return weights.data() + (out * shape_.taps + tap) * shape_.in;
  };
  if (shape_.groups == 1 && shape_.out % 4 == 0) {
    for (std::int64_t out = 0; out < shape_.out; out += 4) {
      const std::int64_t from = block * kBlock;
      const std::int8_t* const rows[4] = {row(out) + from, row(out + 1) + from, row(out + 2) + from,
                                          row(out + 3) + from};
      integer_loops().interleave4(rows, panel + out / 4 * step, static_cast<std::size_t>(end),
                                  flip);
    }
    return;
  }
  for (std::int64_t out = 0; out < shape_.out; ++out) {
    const std::int64_t first = out / (shape_.out / shape_.groups) * shape_.in;
    for (std::int64_t i = 0; i < shape_.in; ++i) {
      const std::int64_t j = first + i - block * kBlock;
      if (j < 0 || j >= end) continue;
      panel[out / 4 * step + j * 4 + out % 4] = static_cast<std::int8_t>(row(out)[i] ^ flip);
    }
  }
}

}  // namespace nibble
