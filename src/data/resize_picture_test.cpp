// SPDX-License-Identifier: Apache-2.0
// Tests of resizing: the formula of the header in another arithmetic, and what must not change.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "data/picture.h"
#include "nibble/core/error.h"
#include "nibble/core/philox.h"

namespace nibble::inline data {
namespace {

Tensor noise(std::int64_t height, std::int64_t width, std::int64_t channels) {
  Tensor picture(DType::u8, Shape{height, width, channels});
  std::uint64_t i = 0;
  for (std::uint8_t& value : picture.as<std::uint8_t>()) {
    value = static_cast<std::uint8_t>(draw32({.seed = 5}, i++));
  }
  return picture;
}

// The mean of one pixel before rounding, from the text of the header, all pixels weighed.
double mean_of(const Tensor& picture, std::int64_t size, std::int64_t y, std::int64_t x,
               std::int64_t channel) {
  const std::int64_t h = picture.shape()[0];
  const std::int64_t w = picture.shape()[1];
  const std::int64_t c = picture.shape()[2];
  const auto weight = [&](std::int64_t n, std::int64_t i, std::int64_t j) {
    const std::int64_t m = size * n / std::min(h, w);
    const std::int64_t moved = i + (m - size) / 2;
    const double distance =
        std::abs(static_cast<double>((2 * j + 1) * m) - static_cast<double>((2 * moved + 1) * n));
    return std::max(0.0, 2.0 * static_cast<double>(std::max(n, m)) - distance);
  };
  double sum = 0;
  double total = 0;
  for (std::int64_t a = 0; a < h; ++a) {
    for (std::int64_t b = 0; b < w; ++b) {
      const double share = weight(h, y, a) * weight(w, x, b);
      total += share;
      sum +=
          share * picture.as<std::uint8_t>()[static_cast<std::size_t>((a * w + b) * c + channel)];
    }
  }
  return sum / total;
}

TEST(ResizePicture, FollowsTheTextOfTheHeader) {
  for (const auto& [h, w, c, size] : {std::array<std::int64_t, 4>{7, 5, 3, 5},
                                      {13, 29, 1, 4},
                                      {31, 17, 3, 9},
                                      {3, 4, 2, 11},
                                      {1, 6, 1, 2},
                                      {40, 40, 1, 1}}) {
    const Tensor picture = noise(h, w, c);
    const Tensor resized = resize_picture(picture.view(), size);
    ASSERT_EQ(resized.shape(), (Shape{size, size, c}));
    std::size_t at = 0;
    for (std::int64_t y = 0; y < size; ++y) {
      for (std::int64_t x = 0; x < size; ++x) {
        for (std::int64_t k = 0; k < c; ++k) {
          EXPECT_EQ(resized.as<std::uint8_t>()[at++],
                    std::floor(mean_of(picture, size, y, x, k) + 0.5 + 1e-9))
              << h << 'x' << w << ' ' << y << ' ' << x;
        }
      }
    }
  }
}

TEST(ResizePicture, OfTheSameSizeIsACopyAndOfAWiderOneItsMiddle) {
  const Tensor square = noise(9, 9, 3);
  const Tensor same = resize_picture(square.view(), 9);
  EXPECT_TRUE(std::ranges::equal(same.as<std::uint8_t>(), square.as<std::uint8_t>()));
  const Tensor wide = noise(4, 9, 1);
  const Tensor middle = resize_picture(wide.view(), 4);
  for (std::size_t y = 0; y < 4; ++y) {
    for (std::size_t x = 0; x < 4; ++x) {
      EXPECT_EQ(middle.as<std::uint8_t>()[4 * y + x], wide.as<std::uint8_t>()[9 * y + 2 + x]);
    }
  }
}

TEST(ResizePicture, KeepsAPlainColourAtTheLimits) {
  for (const auto& [h, w, size] : {std::array<std::int64_t, 3>{8192, 8192, 1},
                                   {32768, 2048, 1},
                                   {1, 32768, 64},
                                   {3, 32768, 512}}) {
    Tensor picture(DType::u8, Shape{h, w, 1});
    std::ranges::fill(picture.as<std::uint8_t>(), std::uint8_t{255});
    const Tensor resized = resize_picture(picture.view(), size);
    for (const std::uint8_t value : resized.as<std::uint8_t>()) ASSERT_EQ(value, 255);
  }
}

// 2.5 and 4.5 pixels at the left are 2 and 4, but 1.5 and 3.5 are 2 and 4 too.
TEST(MiddleOfPicture, HalfAPixelGoesToAnEvenNumber) {
  for (const auto& [w, kept, first] :
       {std::array<std::int64_t, 3>{9, 4, 2}, {7, 4, 2}, {9, 3, 3}, {11, 4, 4}, {13, 4, 4}}) {
    const Tensor picture = noise(4, w, 1);
    const Tensor middle =
        middle_of_picture(picture.view(), {.shorter = 4, .height = 4, .width = kept});
    ASSERT_EQ(middle.shape(), (Shape{4, kept, 1}));
    for (std::int64_t y = 0; y < 4; ++y) {
      for (std::int64_t x = 0; x < kept; ++x) {
        EXPECT_EQ(middle.as<std::uint8_t>()[static_cast<std::size_t>(y * kept + x)],
                  picture.as<std::uint8_t>()[static_cast<std::size_t>(y * w + first + x)]);
      }
    }
  }
}

TEST(MiddleOfPicture, RoundsRowsBeforeColumns) {
  Tensor picture(DType::u8, {2, 2, 1});
  std::ranges::copy(std::initializer_list<std::uint8_t>{0, 1, 0, 0},
                    picture.as<std::uint8_t>().begin());
  // Rows: 1/2 is 1, then 0; columns: 1/2 is 1. At once it would be 1/4.
  const MiddleOptions one{.shorter = 1, .height = 1, .width = 1};
  EXPECT_EQ(middle_of_picture(picture.view(), one).as<std::uint8_t>()[0], 1);
  EXPECT_EQ(resize_picture(picture.view(), 1).as<std::uint8_t>()[0], 0);
}

// One axis of middle_of_picture from the text of the header: `taken` values, `step` apart.
std::uint8_t filtered(const std::uint8_t* values, std::int64_t n, std::int64_t step, std::int64_t m,
                      std::int64_t i) {
  std::uint64_t sum = 0;
  std::uint64_t total = 0;
  const std::int64_t reach = 2 * std::max(n, m);
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int64_t distance = (2 * j + 1) * m - (2 * i + 1) * n;
    const std::int64_t weight = std::max<std::int64_t>(0, reach - std::abs(distance));
    sum += static_cast<std::uint64_t>(weight) * values[j * step];
    total += static_cast<std::uint64_t>(weight);
  }
  return static_cast<std::uint8_t>((2 * sum + total) / (2 * total));
}

TEST(MiddleOfPicture, IsTheFormulaOfTheHeaderAlongRowsThenColumns) {
  for (const auto& [h, w, c, shorter, kept_h, kept_w] :
       {std::array<std::int64_t, 6>{37, 50, 3, 16, 14, 12},
        {50, 37, 1, 16, 16, 15},
        {9, 7, 3, 20, 20, 13},
        {6, 6, 4, 5, 5, 5},
        {1, 9000, 1, 256, 2, 3},
        {300, 2, 3, 64, 64, 64}}) {
    const Tensor picture = noise(h, w, c);
    const Tensor middle =
        middle_of_picture(picture.view(), {.shorter = shorter, .height = kept_h, .width = kept_w});
    const std::int64_t rows = shorter * h / std::min(h, w);
    const std::int64_t columns = shorter * w / std::min(h, w);
    const auto first_of = [](std::int64_t resized, std::int64_t kept) {
      return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(resized - kept) / 2));
    };
    const std::uint8_t* from = picture.as<std::uint8_t>().data();
    for (std::int64_t x = 0; x < kept_w; ++x) {
      for (std::int64_t k = 0; k < c; ++k) {
        std::vector<std::uint8_t> column;
        for (std::int64_t y = 0; y < h; ++y) {
          column.push_back(
              filtered(from + y * w * c + k, w, c, columns, first_of(columns, kept_w) + x));
        }
        for (std::int64_t y = 0; y < kept_h; ++y) {
          ASSERT_EQ(middle.as<std::uint8_t>()[static_cast<std::size_t>((y * kept_w + x) * c + k)],
                    filtered(column.data(), h, 1, rows, first_of(rows, kept_h) + y))
              << h << 'x' << w << ' ' << y << ' ' << x << ' ' << k;
        }
      }
    }
  }
}

TEST(MiddleOfPicture, RefusesMoreThanThereIs) {
  const Tensor picture = noise(9, 9, 1);
  EXPECT_THROW(middle_of_picture(picture.view(), {.shorter = 8, .height = 9, .width = 1}), Error);
  EXPECT_THROW(middle_of_picture(picture.view(), {.shorter = 8, .height = 1, .width = 0}), Error);
  EXPECT_THROW(middle_of_picture(picture.view(), {.shorter = 0}), Error);
  EXPECT_THROW(middle_of_picture(picture.view(), {.shorter = 4097}), Error);
}

TEST(WithChannels, GreyIsRepeatedAndColoursAreWeighed) {
  Tensor grey(DType::u8, {1, 2, 1});
  std::ranges::copy(std::initializer_list<std::uint8_t>{7, 200}, grey.as<std::uint8_t>().begin());
  const Tensor colours = with_channels(std::move(grey), 3);
  EXPECT_TRUE(std::ranges::equal(colours.as<std::uint8_t>(),
                                 std::initializer_list<std::uint8_t>{7, 7, 7, 200, 200, 200}));
  Tensor three(DType::u8, {1, 4, 3});
  std::ranges::copy(
      std::initializer_list<std::uint8_t>{255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255},
      three.as<std::uint8_t>().begin());
  const Tensor one = with_channels(std::move(three), 1);
  EXPECT_TRUE(std::ranges::equal(one.as<std::uint8_t>(),
                                 std::initializer_list<std::uint8_t>{76, 150, 29, 255}));
  EXPECT_THROW(with_channels(noise(2, 2, 1), 2), Error);
  EXPECT_THROW(with_channels(noise(2, 2, 2), 3), Error);
}

TEST(ResizePicture, RefusesOtherSizes) {
  const Tensor picture = noise(2, 2, 1);
  EXPECT_THROW(resize_picture(picture.view(), 0), Error);
  EXPECT_THROW(resize_picture(picture.view(), 4097), Error);
  EXPECT_THROW(resize_picture(Tensor(DType::u8, Shape{2, 2}).view(), 2), Error);
  EXPECT_THROW(resize_picture(Tensor(DType::u8, Shape{0, 2, 1}).view(), 2), Error);
  EXPECT_THROW(resize_picture(Tensor(DType::f32, Shape{2, 2, 1}).view(), 2), Error);
}

}  // namespace
}  // namespace nibble::inline data
