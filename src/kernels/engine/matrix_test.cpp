// SPDX-License-Identifier: Apache-2.0
// Matrices of pixels by panels of weights against the definition, which takes them row by row.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/engine/engine_kernels_test_support.h"
#include "kernels/integer_paths.h"

namespace nibble::inline kernels {
namespace {

std::vector<EngineKernelsPath> matrix_paths() {
  std::vector<EngineKernelsPath> paths = fast_paths();
  std::erase_if(
      paths, [](const EngineKernelsPath& path) { return path.kernel->multiply_matrix == nullptr; });
  return paths;
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
    for (std::int64_t i = 0; i < shape.taps * shape.depth * columns; ++i)
      weights_[size_of(i)] = static_cast<std::int8_t>(random.between(-128, 127));
    for (std::int64_t o = 0; o < columns; ++o) bias_.push_back(random.word(-1'000'000, 1'000'000));
  }

  // `rescale` without places. The bytes around each pixel's result are guards.
  std::vector<std::uint8_t> run(const EngineKernels& path, RescaleTile rescale) const {
    std::vector<std::uint8_t> out(size_of(shape_.pixels / rescale.window * kStride + 16), 0xA5);
    rescale.out = out.data();
    rescale.stride = kStride;
    FilterTile tile{.weights = weights_.data(),
                    .bias = bias_.data(),
                    .taps = shape_.taps,
                    .depth = shape_.depth,
                    .blocks = shape_.blocks,
                    .ahead = values_};
    if (path.multiply_matrix != nullptr) {
      path.multiply_matrix({values_.data(), stride_, shape_.pixels}, tile, rescale);
      return out;
    }
    std::vector<const std::uint8_t*> rows;
    for (int t = 0; t < shape_.taps; ++t) {
      for (int p = 0; p < shape_.pixels; ++p)
        rows.push_back(values_.data() + p * stride_ + t * shape_.depth);
    }
    std::vector<std::int32_t> sums(size_of(shape_.pixels * kFilterColumns));
    tile.rows = rows.data();
    tile.sums = sums.data();
    tile.pixels = shape_.pixels;
    path.multiply(tile);
    rescale.sums = sums.data();
    rescale.pixels = shape_.pixels / rescale.window;
    path.rescale(rescale);
    return out;
  }

  void expect_definition(const RescaleTile& rescale) const {
    const std::vector<std::uint8_t> wanted = run(reference::kEngineKernels, rescale);
    for (const EngineKernelsPath& path : matrix_paths()) {
      ASSERT_EQ(run(*path.kernel, rescale), wanted)
          << name_of(path.isa) << ": " << shape_.blocks << " blocks, " << shape_.pixels
          << " pixels, " << shape_.taps << " taps of " << shape_.depth << ", window "
          << rescale.window << ", storage " << static_cast<int>(rescale.storage) << ", addend "
          << static_cast<int>(rescale.addend.storage);
    }
  }

 private:
  static constexpr std::int64_t kStride = kFilterColumns * 4;

  MatrixShape shape_;
  std::int64_t stride_ = 0;
  std::vector<std::uint8_t> values_;
  std::vector<std::int8_t> weights_;
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

// Sums stay below 2^25, times multipliers below 2^31.
TEST(FilterMatrix, IsRescaledAsTilesAre) {
  Random random(23);
  std::vector<std::int32_t> multipliers, factors;
  for (int o = 0; o < kFilterColumns; ++o) {
    multipliers.push_back(random.word(0, 60));
    factors.push_back(random.word(0, 100));
  }
  const std::vector<std::uint8_t> addends = random.bytes(100 * kFilterColumns);
  for (const int windows : {1, 7, 11, 16, 20, 25}) {
    for (int window = 1; window <= 4; ++window) {
      const Matrix matrix({kFilterBlocks, windows * window, 3, 28, 4}, random);
      for (const FilterStorage storage :
           {FilterStorage::u8, FilterStorage::u4, FilterStorage::s32}) {
        for (const FilterStorage addend :
             {FilterStorage::none, FilterStorage::u8, FilterStorage::u4}) {
          if (window > 1 && addend != FilterStorage::none) continue;
          matrix.expect_definition(
              {.window = window,
               .columns = storage == FilterStorage::u4 || random.is_one_of(2) ? 64 : 57,
               .addend = {.storage = addend,
                          .data = addends.data(),
                          .stride = kFilterColumns,
                          .multiplier = factors.data(),
                          .shift = random.word(0, 4),
                          .zero = addend == FilterStorage::u8 ? 9 : 0},
               .multiplier = multipliers.data(),
               .shift = random.word(10, 26),
               .low = 0,
               .high = storage == FilterStorage::u4 ? 15 : 200,
               .is_wide = random.is_one_of(2),
               .storage = storage});
          if (testing::Test::HasFatalFailure()) return;
        }
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
