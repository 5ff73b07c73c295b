// SPDX-License-Identifier: Apache-2.0
// Resizing with exact weights: columns are summed first, then each row of sums.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "data/picture.h"
#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

constexpr std::int64_t kMostSize = 4096;

// The pixels that one pixel of the result takes.
//
// Their weights sum to at most 2S(S/m + 1). Both axes shrink, to 16(hw)²/(m m') <= 2^56 with at
// most 2^26 pixels, or both grow, with m <= 2^12 and m' <= 2^27, to at most 2^43: sums of bytes
// times weights of both axes stay below 2^64.
struct Taps {
  std::int64_t first = 0;
  std::vector<std::uint64_t> weights;
  std::uint64_t sum = 0;
};

Taps taps_of(std::int64_t n, std::int64_t m, std::int64_t i) {
  const std::int64_t reach = 2 * std::max(n, m);
  const std::int64_t centre = (2 * i + 1) * n;
  Taps taps;
  // j from the first with (2j+1)m > centre - reach.
  const std::int64_t low = centre - reach - m;
  taps.first = low < 0 ? 0 : low / (2 * m) + 1;
  for (std::int64_t j = taps.first; j < n; ++j) {
    const std::int64_t distance = (2 * j + 1) * m - centre;
    if (distance >= reach) break;
    taps.weights.push_back(static_cast<std::uint64_t>(reach - std::max(distance, -distance)));
    taps.sum += taps.weights.back();
  }
  return taps;
}

// What one axis of a picture becomes: of `resized` pixels `count` from `first` are kept.
struct Axis {
  std::int64_t resized = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

std::vector<Taps> all_taps(std::int64_t n, const Axis& axis) {
  std::vector<Taps> list;
  for (std::int64_t i = 0; i < axis.count; ++i)
    list.push_back(taps_of(n, axis.resized, axis.first + i));
  return list;
}

std::uint8_t divided(std::uint64_t sum, std::uint64_t weight) {
  const std::uint64_t rest = sum % weight;
  return static_cast<std::uint8_t>(sum / weight + (rest >= weight - rest ? 1 : 0));
}

void check(std::string_view op, ConstTensorView picture, std::int64_t size) {
  const Shape& shape = picture.shape();
  if (size < 1 || size > kMostSize) {
    throw Error(op, "size", std::to_string(size), fmt::format("1 to {}", kMostSize));
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
  check("resize_picture", picture, size);
  const Shape& shape = picture.shape();
  const auto axis_of = [&](std::int64_t n) {
    const std::int64_t resized = size * n / std::min(shape[0], shape[1]);
    return Axis{resized, (resized - size) / 2, size};
  };
  return resize_axes(picture, axis_of(shape[0]), axis_of(shape[1]));
}

Tensor middle_of_picture(ConstTensorView picture, const MiddleOptions& options) {
  check("middle_of_picture", picture, options.shorter);
  const Shape& shape = picture.shape();
  const auto axis_of = [&](std::int64_t n, std::int64_t kept) {
    if (kept < 1 || kept > options.shorter) {
      throw Error("middle_of_picture", "kept pixels", std::to_string(kept),
                  fmt::format("1 to the {} of the shorter side", options.shorter));
    }
    const std::int64_t resized = options.shorter * n / std::min(shape[0], shape[1]);
    const std::int64_t half = (resized - kept) / 2;
    const bool is_odd = (resized - kept) % 2 != 0;
    return Axis{resized, is_odd && half % 2 != 0 ? half + 1 : half, kept};
  };
  const Axis y = axis_of(shape[0], options.height);
  const Axis x = axis_of(shape[1], options.width);
  const Tensor narrow = resize_axes(picture, {shape[0], 0, shape[0]}, x);
  return resize_axes(narrow.view(), y, {x.count, 0, x.count});
}

}  // namespace nibble::inline data
