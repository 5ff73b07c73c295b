// SPDX-License-Identifier: Apache-2.0
// Batches in the CPU's own layout, for tests of what reads and writes it.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "backend/backend_test_support.h"
#include "backend/cpu/input_layout.h"

namespace nibble::inline backend {

// Memory of its own, in the layout of layers.
class OwnBlock {
 public:
  OwnBlock(const Picture& picture, std::int64_t images, int exponent = 0)
      : memory_(static_cast<std::size_t>(groups_of(images) * BlockPicture(picture).group_bytes())),
        tensor_{picture, images, exponent, memory_.data()} {}
  explicit OwnBlock(const reference::Block& block)
      : OwnBlock(block.picture, block.images, block.exponent) {
    lay_out(std::span<const std::int8_t>(block.data), tensor_);
  }
  OwnBlock(const OwnBlock&) = delete;
  OwnBlock& operator=(const OwnBlock&) = delete;

  BlockTensor& tensor() { return tensor_; }
  const BlockTensor& tensor() const { return tensor_; }

 private:
  std::vector<std::int8_t> memory_;
  BlockTensor tensor_;
};

// Image after image; what only fills up must be zeros.
inline reference::Block plain(const BlockTensor& tensor) {
  reference::Block block{tensor.picture, tensor.images, tensor.exponent, {}};
  const BlockPicture& p = tensor.picture;
  for (std::int64_t image = 0; image < tensor.groups() * kGroup; ++image) {
    for (std::int64_t pixel = 0; pixel < p.pixels(); ++pixel) {
      const std::int8_t* from = tensor.at(image / kGroup, pixel) + image % kGroup * p.stride();
      for (std::int64_t c = 0; c < p.stride(); ++c) {
        if (image < tensor.images && c < p.channels) {
          block.data.push_back(from[c]);
        } else {
          EXPECT_EQ(from[c], 0) << "filling of image " << image << ", pixel " << pixel;
        }
      }
    }
  }
  return block;
}

}  // namespace nibble::inline backend
