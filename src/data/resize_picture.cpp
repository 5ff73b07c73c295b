// SPDX-License-Identifier: Apache-2.0
// Resizing with exact weights: columns are summed first, then each row of sums.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "data/picture.h"
#include "data/resize_taps.h"
#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

void check(ConstTensorView picture, std::int64_t size) {
  constexpr std::string_view op = "resize_picture";
  const Shape& shape = picture.shape();
  if (size < 1 || size > kMostResized) {
    throw Error(op, "size", std::to_string(size), fmt::format("1 to {}", kMostResized));
  }
  const bool is_picture = shape.rank() == 3 && shape[0] >= 1 && shape[1] >= 1 && shape[2] >= 1 &&
                          shape[0] <= kMostPictureSide && shape[1] <= kMostPictureSide &&
                          shape[0] * shape[1] <= kMostPicturePixels;
  if (!is_picture) throw Error(op, "picture", shape.to_string(), "(h, w, c)");
}

Tensor resize_axes(ConstTensorView picture, const Axis& y, const Axis& x) {
  const Shape& shape = picture.shape();
  const std::vector<Taps> rows = all_taps(shape[0], y);
  const std::vector<Taps> columns = all_taps(shape[1], x);
  const auto channels = static_cast<std::size_t>(shape[2]);
  const std::size_t row_bytes = static_cast<std::size_t>(shape[1]) * channels;
  const auto from = picture.as<std::uint8_t>();
  Tensor result(DType::u8, Shape{y.count, x.count, shape[2]});
  std::uint8_t* to = result.as<std::uint8_t>().data();
  std::vector<std::uint64_t> sums(row_bytes);
  for (const Taps& row : rows) {
    std::ranges::fill(sums, 0);
    for (std::size_t k = 0; k < row.weights.size(); ++k) {
      const auto line =
          from.subspan((static_cast<std::size_t>(row.first) + k) * row_bytes, row_bytes);
      for (std::size_t i = 0; i < row_bytes; ++i) sums[i] += row.weights[k] * line[i];
    }
    for (const Taps& column : columns) {
      for (std::size_t channel = 0; channel < channels; ++channel) {
        std::uint64_t sum = 0;
        const std::uint64_t* at =
            sums.data() + static_cast<std::size_t>(column.first) * channels + channel;
        for (std::size_t k = 0; k < column.weights.size(); ++k) {
          sum += column.weights[k] * at[k * channels];
        }
        *to++ = divided(sum, row.sum * column.sum);
      }
    }
  }
  return result;
}

}  // namespace

Tensor resize_picture(ConstTensorView picture, std::int64_t size) {
  check(picture, size);
  const Shape& shape = picture.shape();
  const auto axis_of = [&](std::int64_t n) {
    const std::int64_t resized = size * n / std::min(shape[0], shape[1]);
    return Axis{resized, (resized - size) / 2, size};
  };
  return resize_axes(picture, axis_of(shape[0]), axis_of(shape[1]));
}

}  // namespace nibble::inline data
