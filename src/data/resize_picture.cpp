// SPDX-License-Identifier: Apache-2.0
// Resizing with exact weights: columns are summed first, then each row of sums.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "nibble/core/error.h"
#include "nibble/data/picture.h"

namespace nibble {
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

std::vector<Taps> all_taps(std::int64_t n, std::int64_t shorter, std::int64_t size) {
  const std::int64_t m = size * n / shorter;
  std::vector<Taps> list;
  for (std::int64_t i = 0; i < size; ++i) list.push_back(taps_of(n, m, (m - size) / 2 + i));
  return list;
}

std::uint8_t divided(std::uint64_t sum, std::uint64_t weight) {
  const std::uint64_t rest = sum % weight;
  return static_cast<std::uint8_t>(sum / weight + (rest >= weight - rest ? 1 : 0));
}

}  // namespace

Tensor resize_picture(ConstTensorView picture, std::int64_t size) {
  const Shape& shape = picture.shape();
  if (size < 1 || size > kMostSize) {
    throw Error("resize_picture", "size", std::to_string(size), fmt::format("1 to {}", kMostSize));
  }
  const bool is_picture = shape.rank() == 3 && shape[0] >= 1 && shape[1] >= 1 && shape[2] >= 1 &&
                          shape[0] <= kMostPictureSide && shape[1] <= kMostPictureSide &&
                          shape[0] * shape[1] <= kMostPicturePixels;
  if (!is_picture) throw Error("resize_picture", "picture", shape.to_string(), "(h, w, c)");
  const std::int64_t shorter = std::min(shape[0], shape[1]);
  const std::vector<Taps> rows = all_taps(shape[0], shorter, size);
  const std::vector<Taps> columns = all_taps(shape[1], shorter, size);
  const auto channels = static_cast<std::size_t>(shape[2]);
  const std::size_t row_bytes = static_cast<std::size_t>(shape[1]) * channels;
  const auto from = picture.as<std::uint8_t>();
  Tensor result(DType::u8, Shape{size, size, shape[2]});
  std::uint8_t* to = result.as<std::uint8_t>().data();
  std::vector<std::uint64_t> sums(row_bytes);
  for (const Taps& row : rows) {
    std::ranges::fill(sums, 0);
    for (std::size_t k = 0; k < row.weights.size(); ++k) {
      const auto line =
          from.subspan((static_cast<std::size_t>(row.first) + k) * row_bytes, row_bytes);
      for (std::size_t x = 0; x < row_bytes; ++x) sums[x] += row.weights[k] * line[x];
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

}  // namespace nibble
