// SPDX-License-Identifier: Apache-2.0
// Which pixels of one picture meet which taps of a window to make a pixel of another.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/cases.h"

namespace nibble::inline backend {

struct TapSource {
  std::int32_t source;  // pixel
  std::int32_t tap;     // ky·kernel.x + kx
};

// A pixel of the result and the pixel of the source that it meets at some tap.
struct Pair {
  std::int64_t result;
  std::int64_t source;
};

// For every pixel of the result its meetings, in the order of taps; taps over the border have none.
class TapMap {
 public:
  // result (oy, ox) with tap (ky, kx) meets source oy·stride - padding + ky·dilation.
  static TapMap forward(const SlidingWindow& window, const Picture& source, const Picture& result);
  // The same pairs seen from the source: the way of errors.
  static TapMap backward(const SlidingWindow& window, const Picture& source, const Picture& result);

  // The same, by tap, in the order of the result's pixels. Of `forward` alone.
  std::span<const Pair> at_tap(std::int64_t tap) const {
    return by_tap_[static_cast<std::size_t>(tap)];
  }

  std::int64_t pixels() const { return static_cast<std::int64_t>(begin_.size()) - 1; }
  std::int64_t size() const { return static_cast<std::int64_t>(list_.size()); }
  std::int64_t most() const { return most_; }  // of one pixel
  std::span<const TapSource> of(std::int64_t pixel) const {
    const auto at = static_cast<std::size_t>(pixel);
    return std::span(list_).subspan(begin_[at], begin_[at + 1] - begin_[at]);
  }

 private:
  void end_pixel();

  std::vector<std::size_t> begin_{0};
  std::vector<TapSource> list_;
  std::vector<std::vector<Pair>> by_tap_;
  std::int64_t most_ = 0;
};

}  // namespace nibble::inline backend
