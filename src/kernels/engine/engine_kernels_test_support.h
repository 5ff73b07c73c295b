// SPDX-License-Identifier: Apache-2.0
// Random tiles of the engine's kernel, within its contract, for its tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "core/isa.h"
#include "kernels/engine/engine_kernels.h"
#include "kernels/integer_paths.h"
#include "laws/small_rescale.h"

namespace nibble::inline kernels {

using EngineKernelsPath = KernelPath<const EngineKernels*>;

// Those of this machine, each of which is the one that runs where it is chosen, but the definition.
inline std::vector<EngineKernelsPath> fast_paths() {
  std::vector<EngineKernelsPath> paths = supported_paths(kEngineKernelPaths);
  for (const EngineKernelsPath& path : paths) {
    set_isa(path.isa);
    EXPECT_EQ(&engine_kernels(), path.kernel) << name_of(path.isa);
    reset_isa();
    EXPECT_EQ(last_isa_used(), path.isa);
  }
  std::erase_if(paths, [](const EngineKernelsPath& path) { return path.isa == Isa::reference; });
  return paths;
}

inline std::size_t size_of(std::int64_t count) {
  return static_cast<std::size_t>(count);
}

class Random {
 public:
  explicit Random(unsigned seed) : bits_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(bits_);
  }
  std::int32_t word(std::int64_t low, std::int64_t high) {
    return static_cast<std::int32_t>(between(low, high));
  }
  bool is_one_of(int count) { return between(1, count) == 1; }
  std::vector<std::uint8_t> bytes(std::int64_t count, int high = 255) {
    std::vector<std::uint8_t> result(size_of(count));
    for (auto& x : result) x = static_cast<std::uint8_t>(between(0, high));
    return result;
  }

 private:
  std::mt19937 bits_;
};

enum class RowsLie { apart, evenly, partly_at_zeros };

struct ProductShape {
  int blocks = 1;
  int pixels = 1;
  int taps = 1;
  int depth = 4;
  RowsLie rows = RowsLie::apart;
  int gap = 0;        // bytes between rows that lie evenly
  int largest = 255;  // of the values
};

// A tile in buffers that end where the last value does.
class Product {
 public:
  explicit Product(const ProductShape& shape, unsigned seed = 1) : shape_(shape) {
    Random random(seed);
    const std::int64_t columns = shape.blocks * kFilterOutputs;
    const std::int64_t row_count = std::int64_t{shape.taps} * shape.pixels;
    const std::int64_t stride = shape.depth + shape.gap;
    zeros_.resize(size_of(shape.depth));
    if (shape.rows == RowsLie::evenly) {
      values_.push_back(random.bytes((row_count - 1) * stride + shape.depth, shape.largest));
      for (std::int64_t r = 0; r < row_count; ++r) rows_.push_back(values_[0].data() + r * stride);
    } else {
      for (std::int64_t r = 0; r < row_count; ++r) {
        values_.push_back(random.bytes(shape.depth, shape.largest));
        const bool is_zero = shape.rows == RowsLie::partly_at_zeros && random.is_one_of(3);
        rows_.push_back(is_zero ? zeros_.data() : values_.back().data());
      }
    }
    for (std::int64_t i = 0; i < shape.taps * shape.depth * columns; ++i) {
      weights_.push_back(static_cast<std::int8_t>(random.between(-128, 127)));
    }
    for (std::int64_t o = 0; o < columns; ++o) bias_.push_back(random.word(-1'000'000, 1'000'000));
  }

  Product& set_values(std::uint8_t value) {
    for (auto& row : values_) std::ranges::fill(row, value);
    return *this;
  }
  std::vector<std::int8_t>& weights() { return weights_; }
  std::vector<std::int32_t>& bias() { return bias_; }
  std::vector<std::uint8_t>& values(int tap, int pixel) {
    return values_[size_of(tap * shape_.pixels + pixel)];
  }

  // All sums of a largest tile, those beyond this one included.
  std::vector<std::int32_t> run(const EngineKernels& path) const {
    std::vector<std::int32_t> sums(kFilterPixels * kFilterColumns, 123'456'789);
    path.multiply(tile(sums.data()));
    return sums;
  }

  FilterTile tile(std::int32_t* sums) const {
    return {.rows = rows_.data(),
            .weights = weights_.data(),
            .bias = bias_.data(),
            .sums = sums,
            .taps = shape_.taps,
            .depth = shape_.depth,
            .pixels = shape_.pixels,
            .blocks = shape_.blocks};
  }

  void expect_definition_on(const EngineKernelsPath& path) const {
    ASSERT_EQ(run(*path.kernel), run(reference::kEngineKernels))
        << name_of(path.isa) << ": " << shape_.blocks << " blocks, " << shape_.pixels << " pixels, "
        << shape_.taps << " taps, depth " << shape_.depth << ", values up to " << shape_.largest
        << ", rows " << static_cast<int>(shape_.rows);
  }

 private:
  ProductShape shape_;
  std::vector<std::vector<std::uint8_t>> values_;
  std::vector<std::uint8_t> zeros_;
  std::vector<const std::uint8_t*> rows_;
  std::vector<std::int8_t> weights_;
  std::vector<std::int32_t> bias_;
};

struct DepthwiseShape {
  int blocks = 1;
  int pixels = 1;
  int rows = 3;
  int columns = 3;
  int stride = 1;
  int dilation = 1;
  int channel = 0;
};

// A tile in rows that end where a path may read no further; some are rows of zeros.
class Depthwise {
 public:
  static constexpr int kLines = 3;  // one pixel between them

  explicit Depthwise(const DepthwiseShape& shape, unsigned seed = 1) {
    Random random(seed);
    tile_ = {.channel = shape.channel,
             .kernel_rows = shape.rows,
             .kernel_columns = shape.columns,
             .stride = shape.stride,
             .dilation = shape.dilation,
             .pixels = shape.pixels,
             .blocks = shape.blocks};
    tile_.row_step = tile_.columns() + 2;
    values_.resize(size_of(tile_.row_step * (shape.rows + kLines - 1)));
    for (auto& row : values_) {
      row = random.bytes(shape.channel + kFilterColumns);
      if (random.is_one_of(5)) std::ranges::fill(row, std::uint8_t{0});
      rows_.push_back(row.data());
    }
    const std::int64_t channels = shape.blocks * kFilterOutputs;
    weights_.resize(size_of(shape.columns * tile_.quads() * channels * 4));
    for (std::int64_t i = 0; i < shape.rows * shape.columns * channels; ++i) {
      const std::int64_t y = i / channels / shape.columns;
      const std::int64_t x = i / channels % shape.columns;
      weights_[size_of(((x * tile_.quads() + y / 4) * channels + i % channels) * 4 + y % 4)] =
          static_cast<std::int8_t>(random.is_one_of(4) ? -128 : random.between(-128, 127));
    }
    for (std::int64_t c = 0; c < channels; ++c) bias_.push_back(random.word(-1'000'000, 1'000'000));
    tile_.rows = rows_.data();
    tile_.weights = weights_.data();
    tile_.bias = bias_.data();
  }

  std::vector<std::int32_t> run(const EngineKernels& path) const {
    std::vector<std::int32_t> sums(size_of(tile_.pixels * kFilterColumns));
    std::vector<std::uint8_t> scratch(size_of(tile_.scratch_bytes()));
    path.depthwise(tile(sums, scratch));
    return sums;
  }

  // Some lines; `rescale` without places. The bytes around each pixel's result are guards.
  std::vector<std::uint8_t> run(const EngineKernels& path, RescaleTile rescale) const {
    const DepthwiseLines lines{
        .count = kLines, .row_step = tile_.row_step, .pixels = tile_.pixels + 1};
    std::vector<std::int32_t> sums(size_of(tile_.pixels * kFilterColumns));
    std::vector<std::uint8_t> scratch(size_of(tile_.scratch_bytes()));
    std::vector<std::uint8_t> out(size_of(kLines * lines.pixels * kFilterColumns * 4 + 16), 0xA5);
    rescale.sums = sums.data();
    rescale.pixels = tile_.pixels;
    rescale.out = out.data();
    rescale.stride = kFilterColumns * 4;
    if (path.depthwise_rescale != nullptr) {
      path.depthwise_rescale(tile(sums, scratch), rescale, lines);
    } else {
      lines.each(tile(sums, scratch), rescale, [&](const DepthwiseTile& line, const auto& by) {
        path.depthwise(line);
        path.rescale(by);
      });
    }
    return out;
  }

  void expect_definition_on(const EngineKernelsPath& path) const {
    ASSERT_EQ(run(*path.kernel), run(reference::kEngineKernels))
        << name_of(path.isa) << ": " << tile_.blocks << " blocks, " << tile_.pixels << " pixels, "
        << tile_.kernel_rows << "x" << tile_.kernel_columns << "/" << tile_.stride << " dilated "
        << tile_.dilation;
  }

 private:
  DepthwiseTile tile(std::vector<std::int32_t>& sums, std::vector<std::uint8_t>& scratch) const {
    DepthwiseTile tile = tile_;
    tile.sums = sums.data();
    tile.scratch = scratch.data();
    return tile;
  }

  DepthwiseTile tile_;
  std::vector<std::vector<std::uint8_t>> values_;
  std::vector<const std::uint8_t*> rows_;
  std::vector<std::int8_t> weights_;
  std::vector<std::int32_t> bias_;
};

struct Rescaling {
  FilterStorage storage = FilterStorage::u8;
  FilterStorage addend = FilterStorage::none;
  bool is_wide = true;
  int pixels = 1;
  int columns = kFilterColumns;
  int shift = 0;
  bool has_negative_low = false;
  int window = 1;
  bool is_small = false;  // within fits_words, as far as it reaches; nothing is added
};

inline std::int64_t half_step(int shift) {
  return shift == 0 ? 0 : std::int64_t{1} << (shift - 1);
}

// A random tile within the bounds of the contract. The bytes around each pixel's result are guards.
class RandomRescale {
 public:
  RandomRescale(const Rescaling& what, Random& random)
      : what_(what), tile_({.pixels = what.pixels, .columns = what.columns, .shift = what.shift}) {
    tile_.is_wide = what.is_wide;
    tile_.storage = what.storage;
    tile_.window = what.window;
    if (what.is_small) {
      choose_small(random);
      choose_bounds(random);
      set_small();
      stride_ = 16 + kFilterColumns;
      return;
    }
    // Products, half a step included, stay below this.
    const std::int64_t limit = what.is_wide ? std::int64_t{1} << 62 : (std::int64_t{1} << 31) - 1;
    choose_addend(random, limit);
    choose_factors(random, limit - (what.is_wide ? 0 : half_step(what.shift)));
    choose_bounds(random);
    stride_ = 16 + (what.storage == FilterStorage::s32 ? 4 : 1) * kFilterColumns;
  }

  std::vector<std::uint8_t> run(const EngineKernels& path) const {
    std::vector<std::uint8_t> out(size_of(16 + what_.pixels * stride_), 0xA5);
    RescaleTile tile = tile_;
    tile.sums = sums_.data();
    tile.multiplier = multiplier_.data();
    tile.addend.data = addend_.data();
    tile.addend.multiplier = addend_multiplier_.data();
    tile.out = out.data() + 16;
    tile.stride = stride_;
    path.rescale(tile);
    return out;
  }

  const RescaleTile& tile() const { return tile_; }

  void expect_definition_on(const EngineKernelsPath& path) const {
    ASSERT_EQ(run(*path.kernel), run(reference::kEngineKernels))
        << name_of(path.isa) << ": storage " << static_cast<int>(what_.storage) << ", addend "
        << static_cast<int>(what_.addend) << (what_.is_wide ? ", wide, " : ", narrow, ")
        << (tile_.has_ties ? "ties, " : "no ties, ") << (tile_.is_small ? "small, " : "")
        << what_.pixels << " pixels, " << what_.columns << " columns, shifts " << what_.shift
        << " and " << tile_.addend.shift << ", from " << tile_.low << " to " << tile_.high
        << ", zeros " << tile_.zero << " and " << tile_.addend.zero;
  }

 private:
  void choose_addend(Random& random, std::int64_t limit) {
    if (what_.addend == FilterStorage::none) return;
    const int largest = what_.addend == FilterStorage::u8 ? 255 : 15;
    FilterAddend& addend = tile_.addend;
    addend.storage = what_.addend;
    const bool has_zero = addend.storage == FilterStorage::u8 && !random.is_one_of(3);
    addend.zero = has_zero ? random.word(0, largest) : 0;
    addend.shift = random.word(0, what_.is_wide ? 40 : 31);
    addend.stride = what_.addend == FilterStorage::u8 ? kFilterColumns : kFilterColumns / 2;
    addend_ = random.bytes(addend.stride * what_.pixels);
    const std::int64_t factor_limit =
        std::min<std::int64_t>(2147483647, (limit - half_step(addend.shift)) / largest);
    const std::int64_t most = factor_limit >> random.between(0, 20);
    for (int o = 0; o < kFilterColumns; ++o) {
      addend_multiplier_.push_back(random.word(0, most));
    }
    addend_most_ = ((most * largest + half_step(addend.shift)) >> addend.shift) + 1;
  }

  // Sums near halves of steps and at the ends of what words hold.
  void choose_small(Random& random) {
    std::int64_t most = 32767 >> word_multiplier_shift(what_.shift);
    if (what_.addend != FilterStorage::none) {
      choose_small_addend(random);
      most = std::min(most, (INT32_MAX - half_step(what_.shift)) / (70'001 + addend_most_));
    }
    for (int o = 0; o < kFilterColumns; ++o) {
      const std::int64_t factor = random.is_one_of(4) ? most : random.between(0, most);
      multiplier_.push_back(static_cast<std::int32_t>(random.is_one_of(5) ? factor >> 7 : factor));
    }
    multiplier_.push_back(-1);  // may be read
    const std::int64_t most_sum = random.is_one_of(2) ? 32767 : 70'000;
    // Where the multiplier is 0 factors do not matter.
    for (std::size_t o = 0; o < addend_multiplier_.size(); ++o)
      if (multiplier_[o] == 0 && random.is_one_of(2)) addend_multiplier_[o] = 65'535;
    for (int i = 0; i < what_.pixels * what_.window * kFilterColumns; ++i) {
      const std::int64_t factor = std::max(multiplier_[size_of(i % kFilterColumns)], 1);
      std::int64_t near =
          (random.between(0, 600) * half_step(what_.shift) + random.between(0, factor)) / factor;
      if (random.is_one_of(8)) near = most_sum;
      if (random.is_one_of(8)) near = random.between(0, most_sum);
      sums_.push_back(
          static_cast<std::int32_t>(std::min(near, most_sum) * (random.is_one_of(3) ? -1 : 1)));
    }
    tile_.has_ties = what_.addend != FilterStorage::none || a_product_ties();
  }
  void choose_small_addend(Random& random) {
    FilterAddend& addend = tile_.addend;
    const bool is_byte = what_.addend == FilterStorage::u8;
    addend.storage = what_.addend;
    // A sign and a tie do not go together: shifts of 0, or long ones of odd products.
    addend.zero = is_byte && random.is_one_of(3) ? 64 * random.word(1, 2) : 0;
    addend.shift = addend.zero > 0 && random.is_one_of(2) ? 0 : random.word(0, 12);
    addend.stride = is_byte ? kFilterColumns : kFilterColumns / 2;
    addend_ = random.bytes(addend.stride * what_.pixels);
    const std::int64_t most = 65'534 >> random.between(0, 12);
    addend_most_ = ((is_byte ? 255 : 15) * 65'535) >> addend.shift;
    for (int o = 0; o < kFilterColumns; ++o) {
      const std::int64_t factor = random.is_one_of(4) ? most : random.between(0, most);
      addend_multiplier_.push_back(static_cast<std::int32_t>(
          addend.zero > 0 ? std::min<std::int64_t>(factor | 1, 65'533) : factor));
    }
  }
  void set_small() {
    const auto [least, most] = std::ranges::minmax(sums_);
    const std::vector<std::int64_t> multipliers(multiplier_.begin(), multiplier_.end() - 1);
    std::int64_t largest = std::max<std::int64_t>(most, -std::int64_t{least});
    const RescaleRange y{tile_.low, tile_.high};
    if (addend_multiplier_.empty()) {
      tile_.is_wide = largest * std::ranges::max(multipliers) + half_step(tile_.shift) > INT32_MAX;
      tile_.is_small = fits_words({least, most}, multipliers, tile_.shift, y);
      return;
    }
    const std::vector<std::int64_t> factors(addend_multiplier_.begin(), addend_multiplier_.end());
    const FilterAddend& addend = tile_.addend;
    const int last = addend.storage == FilterStorage::u8 ? 255 : 15;
    largest += ((last * std::ranges::max(factors)) >> addend.shift) + 1;
    tile_.is_wide = largest * std::ranges::max(multipliers) + half_step(tile_.shift) > INT32_MAX;
    tile_.is_small =
        !tile_.is_wide && fits_halves(multipliers, tile_.shift, y,
                                      {-addend.zero, last - addend.zero}, factors, addend.shift);
  }

  // (|sum| + |addend|)·multiplier <= limit, with some at the limit.
  void choose_factors(Random& random, std::int64_t limit) {
    const std::int64_t smallest_sum = addend_most_ + 2;
    const std::int64_t factor_limit = std::min<std::int64_t>(2147483647, limit / smallest_sum);
    const std::int64_t most_factor = factor_limit >> random.between(0, 24);
    const bool has_odd_factors = random.is_one_of(2);
    for (int o = 0; o < kFilterColumns; ++o) {
      std::int64_t factor = random.between(0, most_factor);
      if (random.is_one_of(4)) factor = most_factor;
      if (random.is_one_of(3)) factor &= -factor;  // a power of two: ties
      if (has_odd_factors && factor > 0) factor = (factor - 1) | 1;
      multiplier_.push_back(static_cast<std::int32_t>(factor));
    }
    multiplier_.push_back(-1);  // may be read
    const std::int64_t most_sum = std::clamp<std::int64_t>(
        most_factor == 0 ? limit - addend_most_ : limit / most_factor - addend_most_, 0,
        2147483647 - (what_.is_wide ? 0 : addend_most_));
    for (int i = 0; i < what_.pixels * what_.window * kFilterColumns; ++i) {
      const std::int64_t factor = std::max(multiplier_[size_of(i % kFilterColumns)], 1);
      const std::int64_t sign = random.is_one_of(2) ? -1 : 1;
      // Halves of steps, the largest, or anything.
      const std::int64_t half = std::max<std::int64_t>(half_step(what_.shift), 1);
      const std::int64_t count = random.between(0, std::min<std::int64_t>(300, limit / half));
      std::int64_t near = count * half / factor;
      if (random.is_one_of(8)) near = most_sum;
      if (random.is_one_of(8)) near = random.between(0, most_sum);
      sums_.push_back(static_cast<std::int32_t>(sign * std::min(near, most_sum)));
    }
    tile_.has_ties = what_.addend != FilterStorage::none || a_product_ties();
  }

  bool a_product_ties() const {
    const std::int64_t step = std::int64_t{1} << what_.shift;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const std::int64_t product = std::int64_t{sums_[i]} * multiplier_[i % kFilterColumns];
      if (what_.shift > 0 && (product & (step - 1)) == half_step(what_.shift)) return true;
    }
    return false;
  }

  void choose_bounds(Random& random) {
    if (what_.storage == FilterStorage::s32) {
      tile_.low = what_.has_negative_low ? random.word(-2147483648LL, -1) : random.word(0, 100);
      tile_.high = random.word(std::max(tile_.low, 0), 2147483647);
      tile_.zero = 77;  // not added
      return;
    }
    const int largest = what_.storage == FilterStorage::u8 ? 255 : 15;
    tile_.zero = what_.has_negative_low ? random.word(1, largest) : 0;
    tile_.low = what_.has_negative_low ? -random.word(1, tile_.zero) : random.word(0, 2);
    tile_.high = random.word(tile_.low, largest - tile_.zero);
  }

  Rescaling what_;
  RescaleTile tile_;
  std::int64_t stride_ = 0;
  std::int64_t addend_most_ = 0;
  std::vector<std::int32_t> sums_, multiplier_, addend_multiplier_;
  std::vector<std::uint8_t> addend_;
};

}  // namespace nibble::inline kernels
