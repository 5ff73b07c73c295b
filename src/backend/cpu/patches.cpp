// SPDX-License-Identifier: Apache-2.0
// Unfolds thin inputs.
#include "backend/cpu/patches.h"

#include <array>
#include <cstring>
#include <vector>

#include "nibble/core/parallel.h"

namespace nibble::inline backend {
namespace {

constexpr std::int64_t kThin = 16;    // channels
constexpr std::int64_t kMost = 256;   // of a patch
constexpr std::int64_t kAtOnce = 16;  // bytes: rows of a window are copied so, and overlap

// One image with its border of zeros, pixel after pixel, and kAtOnce bytes to spare at the end.
class Bordered {
 public:
  Bordered(const SlidingWindow& window, const Picture& result, const BlockPicture& input)
      : window_(window), input_(input) {
    const auto extent = [](std::int64_t count, std::int64_t stride, std::int64_t kernel,
                           std::int64_t dilation) {
      return (count - 1) * stride + (kernel - 1) * dilation + 1;
    };
    const std::int64_t height =
        std::max(extent(result.height, window.stride.y, window.kernel.y, window.dilation.y),
                 input.height + window.padding.y);
    width_ = std::max(extent(result.width, window.stride.x, window.kernel.x, window.dilation.x),
                      input.width + window.padding.x);
    bytes_.resize(static_cast<std::size_t>(height * width_ * input.channels + kAtOnce));
  }

  void take(const BlockTensor& tensor, std::int64_t group, std::int64_t image) {
    for (std::int64_t pixel = 0; pixel < input_.pixels(); ++pixel) {
      const std::int8_t* from = tensor.at(group, pixel) + image * input_.stride();
      std::int8_t* to = bytes_.data() + ((pixel / input_.width + window_.padding.y) * width_ +
                                         pixel % input_.width + window_.padding.x) *
                                            input_.channels;
      for (std::int64_t c = 0; c < input_.channels; ++c) to[c] = from[c];
    }
  }

  const std::int8_t* at(std::int64_t y, std::int64_t x) const {
    return bytes_.data() + (y * width_ + x) * input_.channels;
  }

 private:
  const SlidingWindow& window_;
  const BlockPicture& input_;
  std::int64_t width_;
  std::vector<std::int8_t> bytes_;
};

// Runs of the window that lie side by side in the image.
void copy_patch(const SlidingWindow& window, std::int64_t channels, const Bordered& image,
                std::int64_t top, std::int64_t left, std::int8_t* to) {
  const bool is_dense = window.dilation.x == 1;
  const std::int64_t run = is_dense ? window.kernel.x * channels : channels;
  const std::int64_t runs = is_dense ? 1 : window.kernel.x;
  for (std::int64_t ky = 0; ky < window.kernel.y; ++ky) {
    for (std::int64_t k = 0; k < runs; ++k, to += run) {
      const std::int8_t* from =
          image.at(top + ky * window.dilation.y, left + k * window.dilation.x);
      if (run <= kAtOnce) {
        std::memcpy(to, from, kAtOnce);
      } else {
        std::memcpy(to, from, static_cast<std::size_t>(run));
      }
    }
  }
}

}  // namespace

bool is_thin(const Picture& input, const WeightShape& weight) {
  return weight.groups == 1 && weight.taps > 1 && input.channels < kThin &&
         weight.taps * input.channels <= kMost;
}

BlockTensor unfold(const SlidingWindow& window, const Picture& result, const BlockTensor& input,
                   BufferPool& pool, Buffer& memory) {
  const std::int64_t channels = input.picture.channels;
  BlockTensor patches = input;
  patches.picture = {result.height, result.width, window.taps() * channels};
  memory = pool.take<std::int8_t>(patches.bytes());
  patches.data = memory.as<std::int8_t>();
  const std::int64_t stride = patches.picture.stride();
  parallel_for(static_cast<std::size_t>(patches.groups() * kGroup), 1,
               [&](std::size_t begin, std::size_t end) {
                 Bordered image(window, result, input.picture);
                 std::array<std::int8_t, kMost + kAtOnce> patch;
                 for (std::size_t i = begin; i < end; ++i) {
                   const std::int64_t group = static_cast<std::int64_t>(i) / kGroup;
                   const std::int64_t row = static_cast<std::int64_t>(i) % kGroup;
                   image.take(input, group, row);
                   for (std::int64_t pixel = 0; pixel < result.pixels(); ++pixel) {
                     copy_patch(window, channels, image, pixel / result.width * window.stride.y,
                                pixel % result.width * window.stride.x, patch.data());
                     std::memset(patch.data() + patches.picture.channels, 0, 4);
                     std::memcpy(patches.at(group, pixel) + row * stride, patch.data(),
                                 static_cast<std::size_t>(stride));
                   }
                 }
               });
  return patches;
}

}  // namespace nibble::inline backend
