// SPDX-License-Identifier: Apache-2.0
// Errors and inputs turned so that products sum over images: up to 64 of them are the depth.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/block_tensor.h"
#include "backend/cpu/packed_weights.h"
#include "core/buffer_pool.h"

namespace nibble::inline backend {

inline constexpr std::int64_t kBundle = 64;  // images of one term

constexpr std::int64_t bundles_of(std::int64_t images) {
  return (images + kBundle - 1) / kBundle;
}

// Images of a bundle, filled up to whole groups.
inline std::int64_t images_of_bundle(const BlockTensor& tensor, std::int64_t bundle) {
  return std::min(tensor.groups() * kGroup - bundle * kBundle, kBundle);
}

// Those of a batch that are turned at once.
struct Bundles {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Of one pixel and bundle: errors as [channel][image of 64], the rows of a product's tile.
class ErrorRows {
 public:
  // Memory for so many bundles at once.
  ErrorRows(const BlockTensor& error, std::int64_t bundles, BufferPool& pool);

  void turn(Bundles bundles);

  std::int64_t rows() const { return rows_; }  // channels, filled up to a multiple of 16
  // Bundles count from the first that was turned.
  const std::int8_t* at(std::int64_t bundle, std::int64_t pixel, std::int64_t row) const;
  const std::int32_t* sums(std::int64_t bundle, std::int64_t pixel, std::int64_t row) const;

 private:
  void turn(std::int64_t from, std::int64_t bundle, std::int64_t pixel);

  BlockTensor error_;
  std::int64_t rows_;
  Buffer memory_;
  Buffer sums_;  // empty where the path needs none
};

// Of one pixel, bundle and block of 64 channels: inputs as [quad of images][channel][image of 4],
// the other side.
class InputColumns {
 public:
  InputColumns(const BlockTensor& input, std::int64_t bundles, BufferPool& pool);

  void turn(Bundles bundles);

  std::int64_t blocks() const { return (columns_ - 1) / kBlock + 1; }
  std::int64_t width(std::int64_t block) const {
    return std::min(kBlock, columns_ - block * kBlock);
  }
  const std::int8_t* at(std::int64_t bundle, std::int64_t pixel, std::int64_t block) const;

 private:
  static constexpr std::int64_t kBlock = PackedWeights::kBlock;
  void turn(std::int64_t from, std::int64_t bundle, std::int64_t pixel);

  BlockTensor input_;
  std::int64_t columns_;  // channels, filled up to a multiple of 16
  Buffer memory_;
};

}  // namespace nibble::inline backend
