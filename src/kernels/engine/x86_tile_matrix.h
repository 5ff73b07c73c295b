// SPDX-License-Identifier: Apache-2.0
// A matrix of pixels by a panel of weights, on tiles: two of up to 16 pixels meet two of 16
// outputs. `Tiles` are eight registers: 0 to 3 for sums, 4 and 5 for values, 6 and 7 for weights.
// AMX has them; tests take some that are plain memory, so that what is here runs on machines
// without AMX.
#pragma once

#include <immintrin.h>

#include <algorithm>

#include "kernels/engine/x86_rescale_in_parts.h"

namespace nibble::inline kernels {
namespace {  // a copy for each file: they are compiled with flags of their own

constexpr int kTilePixels = 16;  // at most
constexpr std::int64_t kLine = 64;
constexpr std::int64_t kWeightTile = kFilterRun / 4 * kLine;

// Pixels that follow one another, those of two tiles or of one. Tiles are whole: the last one ends
// with the last pixel, and begins among those before.
struct Strip {
  std::int64_t begin = 0;  // of the pixels that are new
  std::int64_t end = 0;
  std::int64_t first = 0;   // pixel of the first tile
  std::int64_t second = 0;  // of the second; of a strip of one tile: as the first
  bool has_two = false;
};

// Strips of the same size, as large as tiles allow, with whole windows.
class Strips {
 public:
  Strips(std::int64_t pixels, int window) : pixels_(pixels) {
    constexpr std::int64_t kMost = 2 * kTilePixels;
    const std::int64_t count = (pixels + kMost - 1) / kMost;
    tile_ = std::min<std::int64_t>(pixels, kTilePixels);
    size_ = kMost / window * window;
    if (window > 1 || pixels <= kTilePixels) return;
    tile_ = (pixels + 2 * count - 1) / (2 * count);
    size_ = 2 * tile_;
  }

  std::int64_t tile() const { return tile_; }  // its pixels
  std::int64_t count() const { return (pixels_ + size_ - 1) / size_; }
  Strip operator[](std::int64_t index) const {
    Strip strip{.begin = index * size_, .end = std::min((index + 1) * size_, pixels_)};
    strip.first = std::min(strip.begin, strip.end - tile_);
    strip.second = strip.end - tile_;
    strip.has_two = strip.second > strip.first;
    return strip;
  }

 private:
  std::int64_t pixels_;
  std::int64_t tile_;
  std::int64_t size_;
};

template <class Tiles>
class TileMatrix {
 public:
  TileMatrix(const FilterMatrix& matrix, const FilterTile& panel, const RescaleTile& rescale)
      : matrix_(matrix),
        panel_(panel),
        window_(rescale.window),
        strips_(matrix.pixels, rescale.window),
        steps_(row_bytes(panel.taps, panel.depth) / kFilterRun),
        waiting_(rescale, steps_) {}

  // Two blocks of outputs meet many strips before the next two: their weights stay in the first
  // cache, where depth allows, and pixels come from the second. Where the weights of the whole
  // panel stay there, few strips at a time, so that pixels and results stay as well.
  void multiply() {
    Tiles::shape(static_cast<int>(strips_.tile()), kFilterRun / 4);
    const int apart = waiting_.apart();
    const std::int64_t few = kFewSteps / steps_;
    const std::int64_t group = few > 0 ? few : strips_.count();
    for (std::int64_t begin = 0; begin < strips_.count(); begin += group) {
      const StripRange range{begin, std::min(begin + group, strips_.count())};
      std::int64_t results = 0;
      for (const int block : {0, 3 - apart}) {
        if (block + apart < panel_.blocks) {
          results = pass<2>(range, block, block + apart);
        } else if (block < panel_.blocks) {
          results = pass<1>(range, block, block);
        }
      }
      results_ += results;
    }
    waiting_.finish();
  }

 private:
  static constexpr std::int64_t kFewSteps = 4;

  struct StripRange {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  // One strip's: of three, one is written and two wait.
  struct alignas(64) Buffer {
    std::int32_t sums[2 * kTilePixels * kPassColumns];
    std::uint8_t rows[4 * kTilePixels];  // half of them: all are written from any on
  };

  // How many results the range has.
  template <int Blocks>
  std::int64_t pass(const StripRange& range, int block, int other) {
    std::int64_t results = 0;
    for (std::int64_t s = range.begin; s < range.end; ++s) {
      const Strip strip = strips_[s];
      Buffer& buffer = buffers_[now_];
      now_ = (now_ + 1) % 3;
      strip.has_two ? sum<2, Blocks>(strip, buffer.sums, block, other)
                    : sum<1, Blocks>(strip, buffer.sums, block, other);
      const std::int64_t count = find_results(strip, buffer.rows);
      waiting_.put({.sums = buffer.sums + (strip.begin - strip.first) * kPassColumns,
                    .rows = buffer.rows,
                    .first = results_ + results,
                    .count = count,
                    .block = block,
                    .blocks = Blocks});
      results += count;
    }
    return results;
  }

  // Which of a strip's pixels, or windows of them, have results, and how many.
  std::int64_t find_results(const Strip& strip, std::uint8_t* rows) const {
    const std::int64_t pixels = (strip.end - strip.begin) / window_;
    const KeptPixels& kept = matrix_.kept;
    if (kept.is_all()) {
      put_rows(rows, 0);
      return pixels;
    }
    std::int64_t count = 0;
    std::int64_t x = strip.begin % kept.width;
    std::int64_t y = (kept.first_row + strip.begin / kept.width) % kept.height;
    for (std::int64_t p = 0; p < pixels; y = y + 1 < kept.height ? y + 1 : 0) {
      const std::int64_t run = std::min(kept.width - x, pixels - p);  // of a row
      put_rows(rows + count, p);
      if (y < kept.rows) count += std::clamp<std::int64_t>(kept.columns - x, 0, run);
      p += run;
      x = 0;
    }
    return count;
  }

  // From `first` on, as many as a strip can have.
  static void put_rows(std::uint8_t* rows, std::int64_t first) {
    const __m256i numbers =
        _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                         21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(rows),
                        _mm256_add_epi8(numbers, _mm256_set1_epi8(static_cast<char>(first))));
  }

  // Sums of pixel first + p go to row p.
  template <int Halves, int Blocks>
  void sum(const Strip& strip, std::int32_t* sums, int block, int other) {
    start<Halves, Blocks>(block, other);
    const std::uint8_t* first = matrix_.values + strip.first * matrix_.stride;
    const std::uint8_t* second = matrix_.values + strip.second * matrix_.stride;
    const std::int8_t* weights = panel_.weights + block * steps_ * kWeightTile;
    const std::int64_t others = (other - block) * steps_ * kWeightTile;
    for (std::int64_t i = 0; i < steps_; ++i) {
      const std::int64_t run = matrix_.runs == nullptr ? i * kFilterRun : matrix_.runs[i];
      add<Halves, Blocks>(first + run, second + run, weights, weights + others);
      waiting_.step();
      weights += kWeightTile;
    }
    constexpr std::int64_t kStride = kPassColumns * 4;
    Tiles::template store<0>(sums, kStride);
    if constexpr (Blocks == 2) Tiles::template store<1>(sums + kFilterOutputs, kStride);
    sums += (strip.second - strip.first) * kPassColumns;
    if constexpr (Halves == 2) Tiles::template store<2>(sums, kStride);
    if constexpr (Halves == 2 && Blocks == 2)
      Tiles::template store<3>(sums + kFilterOutputs, kStride);
  }

  template <int Halves, int Blocks>
  void start(int block, int other) const {
    const std::int32_t* bias = panel_.bias + block * kFilterOutputs;
    Tiles::template load<0>(bias, 0);
    if constexpr (Halves == 2) Tiles::template load<2>(bias, 0);
    if constexpr (Blocks == 1) return;
    bias = panel_.bias + other * kFilterOutputs;
    Tiles::template load<1>(bias, 0);
    if constexpr (Halves == 2) Tiles::template load<3>(bias, 0);
  }

  template <int Halves, int Blocks>
  void add(const std::uint8_t* first, const std::uint8_t* second, const std::int8_t* weights,
           const std::int8_t* others) const {
    Tiles::template load<4>(first, matrix_.stride);
    Tiles::template load<6>(weights, kLine);
    Tiles::template add_products<0, 4, 6>();
    if constexpr (Blocks == 2) {
      Tiles::template load<7>(others, kLine);
      Tiles::template add_products<1, 4, 7>();
    }
    if constexpr (Halves == 2) {
      Tiles::template load<5>(second, matrix_.stride);
      Tiles::template add_products<2, 5, 6>();
      if constexpr (Blocks == 2) Tiles::template add_products<3, 5, 7>();
    }
  }

  const FilterMatrix& matrix_;
  const FilterTile& panel_;
  int window_;
  Strips strips_;
  std::int64_t steps_;
  WaitingSums waiting_;
  std::int64_t results_ = 0;  // of the strips that all blocks have met
  int now_ = 0;
  Buffer buffers_[3];
};

}  // namespace
}  // namespace nibble::inline kernels
