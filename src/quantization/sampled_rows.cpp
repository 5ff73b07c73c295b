// SPDX-License-Identifier: Apache-2.0
// Draws places and copies windows.
#include "quantization/sampled_rows.h"

#include <algorithm>

#include "nibble/core/parallel.h"

namespace nibble::inline quantization {
namespace {

constexpr std::size_t kRowsAtOnce = 64;

}  // namespace

std::vector<std::int64_t> sampled_places(std::int64_t available, std::int64_t most,
                                         const RandomKey& key) {
  const std::int64_t count = std::min(available, most);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = i * available / count;
    const auto length = static_cast<std::uint64_t>((i + 1) * available / count - begin);
    const std::uint64_t draw = draw32(key, static_cast<std::uint64_t>(i));
    places.push_back(begin + static_cast<std::int64_t>((draw * length) >> 32));
  }
  return places;
}

ProductRows::ProductRows(const Op& product, const Shape& input, const Shape& value)
    : conv_(std::get_if<Conv2d>(&product)), order_(input.elements()) {
  if (conv_ == nullptr) return;
  height_ = value[0];
  width_ = value[1];
  order_ = conv_->kernel.y * conv_->kernel.x * (input[2] / conv_->groups);
}

std::vector<float> ProductRows::of(ConstTensorView batch, std::span<const std::int64_t> places,
                                   std::int64_t group) const {
  const auto order = static_cast<std::size_t>(order_);
  std::vector<float> rows(places.size() * order);
  parallel_for(places.size(), kRowsAtOnce, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      float* row = &rows[i * order];
      if (conv_ != nullptr) {
        copy_window(batch, places[i], group, row);
      } else {
        std::copy_n(batch.as<float>().data() + places[i] * order_, order, row);
      }
    }
  });
  return rows;
}

// What lies outside of the picture is 0 already.
void ProductRows::copy_window(ConstTensorView batch, std::int64_t place, std::int64_t group,
                              float* row) const {
  const Shape& shape = batch.shape();
  const std::int64_t top = place % area() / width_ * conv_->stride.y - conv_->padding.y;
  const std::int64_t left = place % width_ * conv_->stride.x - conv_->padding.x;
  const std::int64_t channels = shape[3] / conv_->groups;
  const float* picture = batch.as<float>().data() + place / area() * shape[1] * shape[2] * shape[3];
  for (std::int64_t ky = 0; ky < conv_->kernel.y; ++ky) {
    for (std::int64_t kx = 0; kx < conv_->kernel.x; ++kx, row += channels) {
      const std::int64_t y = top + ky * conv_->dilation.y;
      const std::int64_t x = left + kx * conv_->dilation.x;
      if (y < 0 || y >= shape[1] || x < 0 || x >= shape[2]) continue;
      std::copy_n(picture + (y * shape[2] + x) * shape[3] + group * channels, channels, row);
    }
  }
}

}  // namespace nibble::inline quantization
