// SPDX-License-Identifier: Apache-2.0
// Lists the meetings of a window.
#include "backend/cpu/tap_map.h"

#include <algorithm>

namespace nibble::inline backend {
namespace {

std::int64_t source_of(std::int64_t result, std::int64_t tap, std::int64_t stride,
                       std::int64_t padding, std::int64_t dilation) {
  return result * stride - padding + tap * dilation;
}

}  // namespace

void TapMap::end_pixel() {
  most_ = std::max(most_, static_cast<std::int64_t>(list_.size() - begin_.back()));
  begin_.push_back(list_.size());
}

TapMap TapMap::forward(const SlidingWindow& window, const Picture& source, const Picture& result) {
  TapMap meetings;
  for (std::int64_t oy = 0; oy < result.height; ++oy) {
    for (std::int64_t ox = 0; ox < result.width; ++ox) {
      for (std::int64_t tap = 0; tap < window.taps(); ++tap) {
        const std::int64_t y = source_of(oy, tap / window.kernel.x, window.stride.y,
                                         window.padding.y, window.dilation.y);
        const std::int64_t x = source_of(ox, tap % window.kernel.x, window.stride.x,
                                         window.padding.x, window.dilation.x);
        if (y < 0 || y >= source.height || x < 0 || x >= source.width) continue;
        meetings.list_.push_back(
            {static_cast<std::int32_t>(y * source.width + x), static_cast<std::int32_t>(tap)});
      }
      meetings.end_pixel();
    }
  }
  meetings.by_tap_.resize(static_cast<std::size_t>(window.taps()));
  for (std::int64_t pixel = 0; pixel < meetings.pixels(); ++pixel) {
    for (const TapSource& each : meetings.of(pixel))
      meetings.by_tap_[static_cast<std::size_t>(each.tap)].push_back({pixel, each.source});
  }
  return meetings;
}

TapMap TapMap::backward(const SlidingWindow& window, const Picture& source, const Picture& result) {
  const TapMap ahead = forward(window, source, result);
  std::vector<std::vector<TapSource>> by_source(static_cast<std::size_t>(source.pixels()));
  for (std::int64_t pixel = 0; pixel < result.pixels(); ++pixel) {
    for (const TapSource& each : ahead.of(pixel)) {
      by_source[static_cast<std::size_t>(each.source)].push_back(
          {static_cast<std::int32_t>(pixel), each.tap});
    }
  }
  TapMap meetings;
  for (std::vector<TapSource>& list : by_source) {
    std::ranges::sort(list, {}, &TapSource::tap);
    meetings.list_.insert(meetings.list_.end(), list.begin(), list.end());
    meetings.end_pixel();
  }
  return meetings;
}

}  // namespace nibble::inline backend
