// SPDX-License-Identifier: Apache-2.0
// Packs weights for products.
#include "backend/cpu/packed_weights.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "backend/cpu/block_tensor.h"
#include "kernels/integer_loops/integer_loops.h"
#include "kernels/products/product_kernels.h"
#include "nibble/core/parallel.h"

namespace nibble::inline backend {

PackedWeights::PackedWeights(const WeightShape& shape, Direction direction)
    : shape_(shape),
      direction_(direction),
      depth_(round_up(direction == Direction::forward ? shape.all_in() : shape.out, 4)),
      columns_(direction == Direction::forward ? shape.out : shape.all_in()),
      tap_bytes_(depth_ * round_up(columns_, kProductColumns)),
      is_filled_up_(shape.groups > 1 || columns_ % kProductColumns != 0 ||
                    (direction == Direction::forward && shape.in % 4 != 0)),
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
    if (is_filled_up_)
      std::memset(at(tap, block), product_kernels().b_flip,
                  static_cast<std::size_t>(depth_ * width(block)));  // zeros
    if (direction_ == Direction::forward) {
      pack_forward(tap, block, weights);
    } else {
      pack_backward(tap, block, weights);
    }
  });
}

// Four inputs of one output lie side by side already. Quad after quad, so that what is written lies
// side by side too.
void PackedWeights::pack_forward(std::int64_t tap, std::int64_t block,
                                 std::span<const std::int8_t> weights) {
  const std::int64_t step = width(block) * 4;
  const std::uint8_t flip = product_kernels().b_flip;
  std::int8_t* panel = at(tap, block);
  const std::int64_t end = std::min(kBlock, columns_ - block * kBlock);
  const std::int64_t row = shape_.taps * shape_.in;
  const std::int8_t* from = weights.data() + block * kBlock * row + tap * shape_.in;
  if (shape_.groups > 1) return pack_groups(tap, block, weights);
  std::uint32_t flips = 0;
  std::memset(&flips, flip, sizeof flips);
  const std::int64_t whole = shape_.in / 4 * 4;
  for (std::int64_t i = 0; i < whole; i += 4) {
    std::int8_t* to = panel + i / 4 * step;
    for (std::int64_t j = 0; j < end; ++j) {
      std::uint32_t quad = 0;
      std::memcpy(&quad, from + j * row + i, sizeof quad);
      quad ^= flips;
      std::memcpy(to + j * 4, &quad, sizeof quad);
    }
  }
  for (std::int64_t i = whole; i < shape_.in; ++i) {
    for (std::int64_t j = 0; j < end; ++j)
      panel[i / 4 * step + j * 4 + i % 4] = static_cast<std::int8_t>(from[j * row + i] ^ flip);
  }
}

// Outputs read the inputs of their own group alone.
void PackedWeights::pack_groups(std::int64_t tap, std::int64_t block,
                                std::span<const std::int8_t> weights) {
  const std::int64_t step = width(block) * 4;
  const std::uint8_t flip = product_kernels().b_flip;
  const bool is_forward = direction_ == Direction::forward;
  std::int8_t* panel = at(tap, block);
  for (std::int64_t out = 0; out < shape_.out; ++out) {
    const std::int8_t* from = weights.data() + (out * shape_.taps + tap) * shape_.in;
    const std::int64_t first = out / (shape_.out / shape_.groups) * shape_.in;
    for (std::int64_t i = 0; i < shape_.in; ++i) {
      const std::int64_t k = is_forward ? first + i : out;
      const std::int64_t j = (is_forward ? out : first + i) - block * kBlock;
      if (j < 0 || j >= width(block)) continue;
      panel[k / 4 * step + j * 4 + k % 4] = static_cast<std::int8_t>(from[i] ^ flip);
    }
  }
}

// Columns are inputs, which lie side by side; four outputs are interleaved, zeros where there are
// fewer.
void PackedWeights::pack_backward(std::int64_t tap, std::int64_t block,
                                  std::span<const std::int8_t> weights) {
  static constexpr std::array<std::int8_t, static_cast<std::size_t>(kBlock)> kZeros{};
  if (shape_.groups > 1) return pack_groups(tap, block, weights);
  const std::int64_t step = width(block) * 4;
  std::int8_t* panel = at(tap, block);
  const std::int64_t end = std::min(kBlock, columns_ - block * kBlock);
  const auto row = [&](std::int64_t out) {
    if (out >= shape_.out) return kZeros.data();
    return weights.data() + (out * shape_.taps + tap) * shape_.in + block * kBlock;
  };
  for (std::int64_t out = 0; out < shape_.out; out += 4) {
    const std::int8_t* const rows[4] = {row(out), row(out + 1), row(out + 2), row(out + 3)};
    integer_loops().interleave4(rows, panel + out / 4 * step, static_cast<std::size_t>(end),
                                product_kernels().b_flip);
  }
}

}  // namespace nibble::inline backend
