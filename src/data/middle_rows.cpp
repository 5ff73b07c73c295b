// SPDX-License-Identifier: Apache-2.0
// Along rows, rounded, then along columns.
#include "data/middle_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

constexpr std::uint64_t kMostNarrow = std::uint64_t{1} << 22;  // sum of weights
constexpr int kNumeratorBits = 31;

Axis axis_of(std::int64_t n, std::int64_t kept, const Shape& shape, std::int64_t shorter) {
  if (kept < 1 || kept > shorter) {
    throw Error("middle_of_picture", "kept pixels", std::to_string(kept),
                fmt::format("1 to the {} of the shorter side", shorter));
  }
  const std::int64_t resized = shorter * n / std::min(shape[0], shape[1]);
  const std::int64_t half = (resized - kept) / 2;
  const bool is_odd = (resized - kept) % 2 != 0;
  return Axis{resized, is_odd && half % 2 != 0 ? half + 1 : half, kept};
}

void check(const Shape& shape, const MiddleOptions& options) {
  if (options.shorter < 1 || options.shorter > kMostResized) {
    throw Error("middle_of_picture", "size", std::to_string(options.shorter),
                fmt::format("1 to {}", kMostResized));
  }
  const bool is_picture = shape.rank() == 3 && shape[0] >= 1 && shape[1] >= 1 && shape[2] >= 1 &&
                          shape[0] <= kMostPictureSide && shape[1] <= kMostPictureSide &&
                          shape[0] * shape[1] <= kMostPicturePixels;
  if (!is_picture) throw Error("middle_of_picture", "picture", shape.to_string(), "(h, w, c)");
}

std::int64_t end_of(const std::vector<Taps>& taps) {
  return taps.back().first + static_cast<std::int64_t>(taps.back().weights.size());
}

}  // namespace

// A narrow quotient is ⌊(2·sum + W) / 2W⌋ = ⌊(2·sum + W)·R / 2^k⌋ with R = ⌊2^k / 2W⌋ + 1 and
// k = 31 + ⌈log2 2W⌉: R·2W - 2^k is at most 2W <= 2^(k-31), so that it is exact below 2^31.
MiddleRows::Filters MiddleRows::filters_of(const std::vector<Taps>& taps, std::int64_t first,
                                           std::size_t step) {
  Filters filters;
  for (const Taps& each : taps) {
    Filter filter{.first = static_cast<std::size_t>(each.first - first) * step,
                  .weight_at = filters.weights.size(),
                  .count = each.weights.size(),
                  .sum = each.sum};
    // At most 2·2^27, of what grows to 2^27 pixels.
    for (const std::uint64_t weight : each.weights)
      filters.weights.push_back(static_cast<std::uint32_t>(weight));
    if (each.sum < kMostNarrow) {
      const std::uint64_t divisor = 2 * each.sum;
      filter.shift = kNumeratorBits + static_cast<int>(std::bit_width(divisor - 1));
      filter.reciprocal = (std::uint64_t{1} << filter.shift) / divisor + 1;
    } else {
      filters.is_narrow = false;
    }
    filters.list.push_back(filter);
  }
  return filters;
}

MiddleRows::MiddleRows(const Shape& shape, const MiddleOptions& options) {
  check(shape, options);
  channels_ = static_cast<std::size_t>(shape[2]);
  const Axis y = axis_of(shape[0], options.height, shape, options.shorter);
  const Axis x = axis_of(shape[1], options.width, shape, options.shorter);
  const std::vector<Taps> rows = all_taps(shape[0], y);
  const std::vector<Taps> columns = all_taps(shape[1], x);
  window_ = {.first_row = rows.front().first,
             .rows = end_of(rows) - rows.front().first,
             .first_column = columns.front().first,
             .columns = end_of(columns) - columns.front().first};
  rows_ = filters_of(rows, window_.first_row, 1);
  columns_ = filters_of(columns, window_.first_column, channels_);
  narrow_.resize(static_cast<std::size_t>(window_.rows) * columns_.list.size() * channels_);
}

void MiddleRows::add(const std::uint8_t* pixels) {
  std::uint8_t* to = narrow_.data() + added_++ * columns_.list.size() * channels_;
  if (!columns_.is_narrow) return narrow_any(pixels, to);
  if (channels_ == 3) return narrow<3>(pixels, to);
  if (channels_ == 1) return narrow<1>(pixels, to);
  narrow_any(pixels, to);
}

template <std::size_t kChannels>
void MiddleRows::narrow(const std::uint8_t* pixels, std::uint8_t* to) const {
  const std::uint32_t* const weights = columns_.weights.data();
  for (const Filter& filter : columns_.list) {
    std::array<std::uint32_t, kChannels> sums = {};
    const std::uint8_t* from = pixels + filter.first;
    const std::uint32_t* weight = weights + filter.weight_at;
    for (std::size_t k = 0; k < filter.count; ++k, from += kChannels) {
      for (std::size_t c = 0; c < kChannels; ++c) sums[c] += weight[k] * from[c];
    }
    for (std::size_t c = 0; c < kChannels; ++c) {
      *to++ =
          static_cast<std::uint8_t>((2 * sums[c] + filter.sum) * filter.reciprocal >> filter.shift);
    }
  }
}

void MiddleRows::narrow_any(const std::uint8_t* pixels, std::uint8_t* to) const {
  for (const Filter& filter : columns_.list) {
    for (std::size_t c = 0; c < channels_; ++c) {
      std::uint64_t sum = 0;
      for (std::size_t k = 0; k < filter.count; ++k) {
        sum += std::uint64_t{columns_.weights[filter.weight_at + k]} *
               pixels[filter.first + k * channels_ + c];
      }
      *to++ = divided(sum, filter.sum);
    }
  }
}

void MiddleRows::finish(std::uint8_t* to) const {
  const std::size_t width = columns_.list.size() * channels_;
  std::vector<std::uint32_t> sums(width);
  std::vector<std::uint64_t> wide(rows_.is_narrow ? 0 : width);
  for (const Filter& filter : rows_.list) {
    const std::uint8_t* line = narrow_.data() + filter.first * width;
    if (!rows_.is_narrow) {
      std::ranges::fill(wide, 0);
      for (std::size_t k = 0; k < filter.count; ++k, line += width) {
        const std::uint64_t weight = rows_.weights[filter.weight_at + k];
        for (std::size_t i = 0; i < width; ++i) wide[i] += weight * line[i];
      }
      for (std::size_t i = 0; i < width; ++i) *to++ = divided(wide[i], filter.sum);
      continue;
    }
    std::ranges::fill(sums, 0);
    for (std::size_t k = 0; k < filter.count; ++k, line += width) {
      const std::uint32_t weight = rows_.weights[filter.weight_at + k];
      for (std::size_t i = 0; i < width; ++i) sums[i] += weight * line[i];
    }
    for (std::size_t i = 0; i < width; ++i) {
      *to++ =
          static_cast<std::uint8_t>((2 * sums[i] + filter.sum) * filter.reciprocal >> filter.shift);
    }
  }
}

Tensor middle_of_picture(ConstTensorView picture, const MiddleOptions& options) {
  MiddleRows middle(picture.shape(), options);
  const PictureWindow& window = middle.window();
  const std::int64_t channels = picture.shape()[2];
  const std::int64_t row = picture.shape()[1] * channels;
  const std::uint8_t* from =
      picture.as<std::uint8_t>().data() + window.first_row * row + window.first_column * channels;
  for (std::int64_t y = 0; y < window.rows; ++y) middle.add(from + y * row);
  Tensor result(DType::u8, Shape{options.height, options.width, channels});
  middle.finish(result.as<std::uint8_t>().data());
  return result;
}

}  // namespace nibble::inline data
