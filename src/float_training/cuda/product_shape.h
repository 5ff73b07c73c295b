// SPDX-License-Identifier: Apache-2.0
// A convolution as a GPU's kernels know it. Pictures lie as [image][y][x][channel], weights as
// [output][y][x][input]; a linear layer is a convolution of one pixel.
#pragma once

#include <cstdint>

namespace nibble::cuda {

struct FloatProductShape {
  struct Extent {
    std::int32_t y = 1;
    std::int32_t x = 1;
  };

  std::int32_t images = 0;
  Extent input = {};
  Extent output = {};
  Extent kernel = {};
  Extent stride = {};
  Extent padding = {0, 0};
  Extent dilation = {};
  std::int32_t groups = 1;
  std::int32_t in = 0;  // channels of a group
  std::int32_t out = 0;

  constexpr std::int32_t taps() const { return kernel.y * kernel.x; }
  constexpr std::int32_t input_pixels() const { return images * input.y * input.x; }
  constexpr std::int32_t output_pixels() const { return images * output.y * output.x; }
};

}  // namespace nibble::cuda
