// SPDX-License-Identifier: Apache-2.0
// Matrices of pixels by panels of weights against the definition, which takes them row by row.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/engine/engine_kernels_test_support.h"
#include "kernels/engine/test_plain_tiles.h"
#include "kernels/integer_paths.h"

namespace nibble::inline kernels {
namespace {

std::vector<EngineKernelsPath> matrix_paths() {
  std::vector<EngineKernelsPath> paths = supported_paths(kEngineKernelPaths);
  std::erase_if(
      paths, [](const EngineKernelsPath& path) { return path.kernel->multiply_matrix == nullptr; });
  return paths;
}

struct NamedProduct {
  std::string name;
  decltype(EngineKernels::multiply_matrix) multiply;
};

std::vector<NamedProduct> matrix_products() {
  std::vector<NamedProduct> products;
  for (const EngineKernelsPath& path : matrix_paths())
    products.push_back({std::string(name_of(path.isa)), path.kernel->multiply_matrix});
#ifdef __x86_64__
  if (std::ranges::count(supported_isas(), Isa::avx512vnni) > 0)
    products.push_back({"plain tiles", multiply_on_plain_tiles});
#endif
  return products;
}

struct MatrixShape {
  int blocks = 1;
  int pixels = 1;
  int taps = 1;
  int depth = 4;
  int gap = 0;  // bytes between rows
};

// The last row ends where a path may read no further.
class Matrix {
 public:
  Matrix(const MatrixShape& shape, Random& random) : shape_(shape) {
    const std::int64_t run = row_bytes(shape.taps, shape.depth);
    const std::int64_t columns = shape.blocks * kFilterOutputs;
    stride_ = shape.taps * shape.depth + shape.gap;
    values_ = random.bytes((shape.pixels - 1) * stride_ + run);
    weights_.resize(size_of(run * columns));
    by_blocks_.resize(size_of(run * columns));
    for (std::int64_t i = 0; i < shape.taps * shape.depth * columns; ++i) {
      const std::int64_t k = i / columns;
      const std::int64_t o = i % columns;
      const auto weight = static_cast<std::int8_t>(random.between(-128, 127));
      weights_[size_of((k / 4 * columns + o) * 4 + k % 4)] = weight;
      by_blocks_[size_of((o / 16 * run + k - k % 4) * 16 + o % 16 * 4 + k % 4)] = weight;
    }
    for (std::int64_t o = 0; o < columns; ++o) bias_.push_back(random.word(-1'000'000, 1'000'000));
  }

  static constexpr std::int64_t kStride = kFilterColumns * 4;
  static constexpr std::int64_t kGuard = 16;  // bytes behind the last result

  // `rescale` without places. The bytes around each pixel's result are guards.
  std::vector<std::uint8_t> run(const NamedProduct& product, const RescaleTile& rescale) const {
    return run_on({values_.data(), stride_, shape_.pixels}, shape_.pixels / rescale.window, product,
                  rescale);
  }

  // The same for another matrix of so many results.
  std::vector<std::uint8_t> run_on(const FilterMatrix& matrix, std::int64_t results,
                                   const NamedProduct& product, RescaleTile rescale) const {
    std::vector<std::uint8_t> out = outputs(results, rescale);
    product.multiply(matrix, panel(by_blocks_), rescale);
    return out;
  }

  // What the definitions of tiles of rows give.
  std::vector<std::uint8_t> run_by_rows(RescaleTile rescale) const {
    std::vector<std::uint8_t> out = outputs(shape_.pixels / rescale.window, rescale);
    std::vector<const std::uint8_t*> rows;
    for (int t = 0; t < shape_.taps; ++t) {
      for (int p = 0; p < shape_.pixels; ++p)
        rows.push_back(values_.data() + p * stride_ + t * shape_.depth);
    }
    std::vector<std::int32_t> sums(size_of(shape_.pixels * kFilterColumns));
    FilterTile tile = panel(weights_);
    tile.rows = rows.data();
    tile.sums = sums.data();
    tile.pixels = shape_.pixels;
    reference::kEngineKernels.multiply(tile);
    rescale.sums = sums.data();
    rescale.pixels = shape_.pixels / rescale.window;
    reference::kEngineKernels.rescale(rescale);
    return out;
  }

  void expect_definition(const RescaleTile& rescale) const {
    const std::vector<std::uint8_t> wanted = run_by_rows(rescale);
    for (const NamedProduct& product : matrix_products()) {
      ASSERT_EQ(run(product, rescale), wanted)
          << product.name << ": " << shape_.blocks << " blocks, " << shape_.pixels << " pixels, "
          << shape_.taps << " taps of " << shape_.depth << ", window " << rescale.window
          << ", storage " << static_cast<int>(rescale.storage) << ", addend "
          << static_cast<int>(rescale.addend.storage);
    }
  }

 private:
  static std::vector<std::uint8_t> outputs(std::int64_t count, RescaleTile& rescale) {
    std::vector<std::uint8_t> out(size_of(count * kStride + kGuard), 0xA5);
    rescale.out = out.data();
    rescale.stride = kStride;
    return out;
  }
  FilterTile panel(const std::vector<std::int8_t>& weights) const {
    return {.weights = weights.data(),
            .bias = bias_.data(),
            .taps = shape_.taps,
            .depth = shape_.depth,
            .blocks = shape_.blocks,
            .ahead = values_};
  }

  MatrixShape shape_;
  std::int64_t stride_ = 0;
  std::vector<std::uint8_t> values_;
  std::vector<std::int8_t> weights_;
  std::vector<std::int8_t> by_blocks_;
  std::vector<std::int32_t> bias_;
};

// As they are: sums stay within int32.
RescaleTile sums_of(int blocks, const std::vector<std::int32_t>& ones) {
  return {.columns = blocks * kFilterOutputs,
          .multiplier = ones.data(),
          .low = INT32_MIN,
          .high = INT32_MAX,
          .storage = FilterStorage::s32};
}

TEST(FilterMatrix, SumsOfEveryNumberOfPixelsAreExact) {
  Random random(21);
  const std::vector<std::int32_t> ones(kFilterColumns, 1);
  for (int blocks = 1; blocks <= kFilterBlocks; ++blocks) {
    for (int pixels = 1; pixels <= 70; ++pixels) {
      const Matrix matrix({blocks, pixels, 1, 64, pixels % 3}, random);
      matrix.expect_definition(sums_of(blocks, ones));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(FilterMatrix, SumsOfEveryDepthAreExact) {
  Random random(22);
  const std::vector<std::int32_t> ones(kFilterColumns, 1);
  for (const int taps : {1, 3, 9}) {
    for (const int depth : {4, 8, 20, 24, 64, 148, 512}) {
      for (const int pixels : {1, 15, 16, 17, 49}) {
        const Matrix matrix({1 + depth / 4 % kFilterBlocks, pixels, taps, depth, 0}, random);
        matrix.expect_definition(sums_of(1 + depth / 4 % kFilterBlocks, ones));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// Sums stay below 2^22, times multipliers below 2^31.
TEST(FilterMatrix, IsRescaledAsTilesAre) {
  Random random(23);
  std::vector<std::int32_t> multipliers, factors;
  for (int o = 0; o < kFilterColumns; ++o) {
    multipliers.push_back(random.is_one_of(8) ? 0 : random.word(7, 60));
    factors.push_back(random.is_one_of(8) ? random.word(32'768, 65'534) : random.word(0, 100));
  }
  int small = 0, small_with_addend = 0;
  const auto is_small = [&](const RescaleTile& tile) {
    const std::vector<std::int64_t> m(multipliers.begin(), multipliers.end());
    constexpr std::int64_t kMostSum = (1 << 22) - 1;
    const std::vector<std::int64_t> f(factors.begin(), factors.end());
    const RescaleRange y{tile.low, tile.high};
    const RescaleRange a{-tile.addend.zero, 255 - tile.addend.zero};
    const bool fits = tile.addend.storage == FilterStorage::none
                          ? fits_words({-kMostSum, kMostSum}, m, tile.shift, y)
                          : !tile.is_wide && fits_halves(m, tile.shift, y, a, f, tile.addend.shift);
    (tile.addend.storage == FilterStorage::none ? small : small_with_addend) += fits ? 1 : 0;
    return fits;
  };
  const std::vector<std::uint8_t> addends = random.bytes(100 * kFilterColumns);
  for (const int windows : {1, 7, 11, 16, 20, 25}) {
    for (int window = 1; window <= 4; ++window) {
      const Matrix matrix({kFilterBlocks, windows * window, 3, 28, 4}, random);
      for (const FilterStorage storage :
           {FilterStorage::u8, FilterStorage::u4, FilterStorage::s32}) {
        for (const FilterStorage addend :
             {FilterStorage::none, FilterStorage::u8, FilterStorage::u4}) {
          if (window > 1 && addend != FilterStorage::none) continue;
          RescaleTile tile{
              .window = window,
              .columns = storage == FilterStorage::u4 || random.is_one_of(2) ? 64 : 57,
              .addend = {.storage = addend,
                         .data = addends.data(),
                         .stride = kFilterColumns,
                         .multiplier = factors.data(),
                         .shift = random.word(0, 2),
                         .zero = addend == FilterStorage::u8 ? 64 * random.word(0, 2) : 0},
              .multiplier = multipliers.data(),
              .shift = random.is_one_of(2) ? 10 : random.word(10, 26),
              .low = 0,
              .high = storage == FilterStorage::u4 ? 15 : 200,
              .is_wide = random.is_one_of(2),
              .storage = storage};
          tile.is_small = is_small(tile);
          matrix.expect_definition(tile);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(small, 24);             // of 72 to which nothing is added
  EXPECT_GT(small_with_addend, 4);  // of 36
}

// Windows of 3×3 in pictures with a column and a row of zeros between them, from some row on.
TEST(FilterMatrix, WindowsOverlapInAPictureWithBorders) {
  Random random(25);
  const std::vector<std::int32_t> ones(kFilterColumns, 1);
  for (const int width : {1, 5, 7, 14, 33}) {
    for (const int first_row : {0, 1, 3}) {
      constexpr int kDepth = 64, kHeight = 4, kRows = 7;
      std::vector<std::int64_t> runs;
      for (int t = 0; t < 9; ++t) runs.push_back((t / 3 * (width + 1) + t % 3) * kDepth);
      const std::int64_t pixels = (kRows - 1) * (width + 1) + width;
      const std::vector<std::uint8_t> values =
          random.bytes((pixels - 1) * kDepth + runs.back() + kDepth);
      const Matrix weights({kFilterBlocks, 1, 9, kDepth, 0}, random);
      const FilterMatrix matrix{.values = values.data(),
                                .stride = kDepth,
                                .pixels = pixels,
                                .runs = runs.data(),
                                .kept = {.width = width + 1,
                                         .columns = width,
                                         .height = kHeight + 1,
                                         .rows = kHeight,
                                         .first_row = first_row}};
      // Each result by itself, as the product of a row that is copied.
      std::vector<std::uint8_t> wanted;
      for (std::int64_t p = 0; p < pixels; ++p) {
        if (p % (width + 1) == width || (first_row + p / (width + 1)) % (kHeight + 1) == kHeight)
          continue;
        std::vector<std::uint8_t> row;
        for (const std::int64_t run : runs) {
          const auto begin = values.begin() + p * kDepth + run;
          row.insert(row.end(), begin, begin + kDepth);
        }
        const std::vector<std::uint8_t> one =
            weights.run_on({row.data(), 9 * kDepth, 1}, 1, matrix_products().front(),
                           sums_of(kFilterBlocks, ones));
        wanted.insert(wanted.end(), one.begin(), one.begin() + Matrix::kStride);
      }
      const auto results = static_cast<std::int64_t>(wanted.size()) / Matrix::kStride;
      wanted.insert(wanted.end(), Matrix::kGuard, 0xA5);
      for (const NamedProduct& product : matrix_products()) {
        ASSERT_EQ(weights.run_on(matrix, results, product, sums_of(kFilterBlocks, ones)), wanted)
            << product.name << ", width " << width << " from row " << first_row;
      }
    }
  }
}

TEST(FilterMatrix, IsMadeOfCopiedRows) {
  Random random(24);
  for (const EngineKernelsPath& path : matrix_paths()) {
    for (const int bytes : {1, 4, 24, 63, 64, 65, 192, 200}) {
      for (const int count : {0, 1, 5}) {
        const std::vector<std::uint8_t> from = random.bytes(std::max(0, count - 1) * 24 + bytes);
        std::vector<std::uint8_t> to(size_of(5 * 208 + 1), 0xA5), wanted = to;
        for (int r = 0; r < count; ++r) {
          for (int i = 0; i < bytes; ++i) wanted[size_of(r * 208 + i)] = from[size_of(r * 24 + i)];
        }
        path.kernel->copy_rows(from.data(), 24, to.data(), 208, count, bytes);
        EXPECT_EQ(to, wanted) << name_of(path.isa) << ' ' << bytes << ' ' << count;
      }
    }
  }
}

}  // namespace
}  // namespace nibble::inline kernels
