// SPDX-License-Identifier: Apache-2.0
// Errors and inputs turned so that products sum over images: up to 64 of them are the depth.
#pragma once

#include <cstdint>

#include "core/buffer_pool.h"
#include "integer/block_tensor.h"

namespace nibble {

inline constexpr std::int64_t kBundle = 64;  // images of one term

// Of one pixel and bundle: errors as [channel][image of 64], the rows of a product's tile.
class ErrorRows {
 public:
  ErrorRows(const BlockTensor& error, BufferPool& pool);

  std::int64_t rows() const { return rows_; }  // channels, filled up to a multiple of 16
  const std::int8_t* at(std::int64_t bundle, std::int64_t pixel, std::int64_t row) const;
  const std::int32_t* sums(std::int64_t bundle, std::int64_t pixel, std::int64_t row) const;

 private:
  void turn(const BlockTensor& error, std::int64_t bundle, std::int64_t pixel);

  std::int64_t pixels_;
  std::int64_t rows_;
  Buffer memory_;
  Buffer sums_;  // empty where the path needs none
};

// Of one pixel and bundle: inputs as [quad of images][channel][image of 4], the other side.
class InputColumns {
 public:
  InputColumns(const BlockTensor& input, BufferPool& pool);

  std::int64_t columns() const { return columns_; }  // channels, filled up to a multiple of 16
  const std::int8_t* at(std::int64_t bundle, std::int64_t pixel, std::int64_t column) const;

 private:
  void turn(const BlockTensor& input, std::int64_t bundle, std::int64_t pixel);

  std::int64_t pixels_;
  std::int64_t columns_;
  Buffer memory_;
};

constexpr std::int64_t bundles_of(std::int64_t images) {
  return (images + kBundle - 1) / kBundle;
}

// Images of a bundle, filled up to whole groups.
inline std::int64_t images_of_bundle(const BlockTensor& tensor, std::int64_t bundle) {
  const std::int64_t left = tensor.groups() * kGroup - bundle * kBundle;
  return left < kBundle ? left : kBundle;
}

}  // namespace nibble
