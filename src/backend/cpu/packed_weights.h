// SPDX-License-Identifier: Apache-2.0
// Weights in the order in which products read them, packed once a step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/cases.h"
#include "nibble/core/tensor.h"

namespace nibble::inline backend {

// For every tap and every block of up to 64 columns one panel: depth / 4 quads of the block's
// columns, 4 bytes each, as kernels/products/product_kernels.h wants them. Forward the depth runs
// over `in` and columns are `out`; for errors it is the other way round.
class PackedWeights {
 public:
  enum class Direction : std::uint8_t { forward, backward };

  PackedWeights(const WeightShape& shape, Direction direction);

  void pack(std::span<const std::int8_t> weights);

  std::int64_t depth() const { return depth_; }      // a multiple of 4
  std::int64_t columns() const { return columns_; }  // without those that fill up
  std::int64_t blocks() const { return (columns_ + kBlock - 1) / kBlock; }
  std::int64_t width(std::int64_t block) const;  // columns of the block, a multiple of 16
  const std::int8_t* panel(std::int64_t tap, std::int64_t block) const;

  static constexpr std::int64_t kBlock = 64;

 private:
  void pack_forward(std::int64_t tap, std::int64_t block, std::span<const std::int8_t> weights);
  void pack_groups(std::int64_t tap, std::int64_t block, std::span<const std::int8_t> weights);
  void pack_backward(std::int64_t tap, std::int64_t block, std::span<const std::int8_t> weights);
  std::int8_t* at(std::int64_t tap, std::int64_t block) const;

  WeightShape shape_;
  Direction direction_;
  std::int64_t depth_;
  std::int64_t columns_;
  std::int64_t tap_bytes_;
  bool is_filled_up_;  // some bytes are zeros that no weight is written to
  Tensor memory_;
};

}  // namespace nibble::inline backend
