// SPDX-License-Identifier: Apache-2.0
// The middle of a picture, resized, made of rows as they are decoded: middle_of_picture without the
// picture in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/picture.h"
#include "data/picture_codecs.h"
#include "data/resize_taps.h"

namespace nibble::inline data {

class MiddleRows {
 public:
  // `shape` is that of the picture, (h, w, c).
  MiddleRows(const Shape& shape, const MiddleOptions& options);

  // What of the picture is needed.
  const PictureWindow& window() const { return window_; }

  // The next row of the window, from its first column on.
  void add(const std::uint8_t* pixels);

  // After all rows: height × width × c bytes.
  void finish(std::uint8_t* to) const;

 private:
  // One pixel of the result along an axis: its weights, and what divides their sum.
  struct Filter {
    std::size_t first = 0;         // byte of a row, or row of the window
    std::size_t weight_at = 0;     // in weights
    std::size_t count = 0;         // of weights
    std::uint64_t sum = 0;         // of weights
    std::uint64_t reciprocal = 0;  // see filters_of
    int shift = 0;
  };
  struct Filters {
    std::vector<Filter> list;
    std::vector<std::uint32_t> weights;
    bool is_narrow = true;  // sums of bytes times weights, doubled, are below 2^31
  };
  static Filters filters_of(const std::vector<Taps>& taps, std::int64_t first, std::size_t step);

  template <std::size_t kChannels>
  void narrow(const std::uint8_t* pixels, std::uint8_t* to) const;
  void narrow_any(const std::uint8_t* pixels, std::uint8_t* to) const;

  std::size_t channels_;
  PictureWindow window_;
  Filters columns_;
  Filters rows_;
  std::vector<std::uint8_t> narrow_;  // rows of the window, as wide as the result
  std::size_t added_ = 0;
};

}  // namespace nibble::inline data
