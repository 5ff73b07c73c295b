// SPDX-License-Identifier: Apache-2.0
// Sums that wait in memory until they are rescaled, some pixels at a time between the products of
// those that follow: a processor does not look far enough ahead to do both at once by itself.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>

#include "kernels/engine/x86_avx512_rescale.h"

namespace nibble::inline kernels {
namespace {  // a copy for each file: they are compiled with flags of their own

constexpr int kPassColumns = 2 * kFilterOutputs;  // one or two blocks of sums wait at a time

// Sums as tiles leave them: [row][kPassColumns] of one or two blocks.
struct StripSums {
  const std::int32_t* sums = nullptr;
  const std::uint8_t* rows = nullptr;  // of the pixels with results
  std::int64_t first = 0;              // such pixel of the matrix
  std::int64_t count = 0;
  int block = 0;
  int blocks = 0;
};

// Two strips wait: no load gets what a tile has just written before it is in the cache, so that
// only the older one is rescaled.
class WaitingSums {
 public:
  // The tile must outlive it. Within so many steps after it has become the older one, a strip is
  // rescaled.
  WaitingSums(const RescaleTile& tile, std::int64_t steps) : window_(tile.window), steps_(steps) {
    with_avx512_rescale(tile, [&]<class Law>() {
      static_assert(sizeof(Law) <= sizeof law_);
      new (law_) Law(tile);
      apart_ = Law::kApart;
      parts_[0] = window_ == 1 ? &part<Law, 1, 1> : &part<Law, 1, 0>;
      parts_[1] = window_ == 1 ? &part<Law, 2, 1> : &part<Law, 2, 0>;
    });
  }

  // From a block to the one that waits with it.
  int apart() const { return apart_; }

  void put(const StripSums& strip) {
    rescale(older_.count);
    older_ = younger_;
    younger_ = strip;
    share_ = ((older_.count + steps_ - 1) / steps_ + 1) / 2 * 2;
  }

  void step() { rescale(std::min(share_, older_.count)); }

  void finish() {
    rescale(older_.count);
    older_ = younger_;
    rescale(older_.count);
  }

 private:
  using Part = void (*)(const WaitingSums& waiting, std::int64_t count);

  // The next pixels of the older strip.
  void rescale(std::int64_t count) {
    if (count == 0) return;
    parts_[older_.blocks - 1](*this, count);
    older_.rows += count;
    older_.first += count;
    older_.count -= count;
  }

  // Window: 0 if it is none of one sum.
  template <class Law, int Blocks, int Window>
  static void part(const WaitingSums& waiting, std::int64_t count) {
    const Law& law = *std::launder(reinterpret_cast<const Law*>(waiting.law_));
    const StripSums strip = waiting.older_;  // a copy: what is written may be anything
    const int window = Window == 0 ? waiting.window_ : Window;
    const auto columns = law.template columns_of<Blocks>(strip.block);
    typename Law::Pixel pixel = law.pixel_at(strip.first, strip.block);
    for (std::int64_t i = 0; i < count; i += 2) {
      const std::int64_t other = std::min(i + 1, count - 1);
      const typename Law::Pixel pixels[] = {pixel, other > i ? columns.next(pixel) : pixel};
      const std::int32_t* sums[] = {strip.sums + strip.rows[i] * window * kPassColumns,
                                    strip.sums + strip.rows[other] * window * kPassColumns};
      law.template two_pixels<Blocks>(columns, pixels, [&](int p, int b) {
        return largest_sums(sums[p] + b * kFilterOutputs, window, kPassColumns);
      });
      pixel = columns.next(pixels[1]);
    }
  }

  alignas(64) std::byte law_[2752];
  int window_;
  std::int64_t steps_;
  int apart_ = 1;
  Part parts_[2] = {};  // of one block, of two
  StripSums older_;
  StripSums younger_;
  std::int64_t share_ = 0;
};

}  // namespace
}  // namespace nibble::inline kernels
