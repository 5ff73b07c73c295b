// SPDX-License-Identifier: Apache-2.0
// One channel to one on every path against the definition, bit for bit.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "kernels/engine/engine_kernels_test_support.h"
#include "kernels/integer_paths.h"
#include "laws/rescale_ties.h"

namespace nibble::inline kernels {
namespace {

TEST(Depthwise8, IsWhatTheFormulaSays) {
  const std::uint8_t zeros[kFilterColumns] = {};
  std::uint8_t row[kFilterColumns + 1] = {};
  row[1 + 5] = 200;  // channel 5
  row[1 + 6] = 7;
  // Rows y = 0, 1 of columns 0 … 3, of which row 1, column 2 alone is not zero.
  const std::uint8_t* const rows[] = {zeros, zeros, zeros, zeros, zeros, zeros, row + 1, zeros};
  std::int8_t weights[3 * 16 * 4] = {};
  weights[(0 * 16 + 5) * 4 + 1] = -128;  // y 1, x 0
  weights[(1 * 16 + 5) * 4 + 1] = 3;
  weights[(2 * 16 + 6) * 4 + 1] = 11;
  weights[(2 * 16 + 5) * 4 + 0] = 99;  // y 0: a row of zeros
  const std::int32_t bias[16] = {0, 0, 0, 0, 0, 50};
  std::int32_t sums[2 * kFilterColumns] = {};
  std::vector<std::uint8_t> scratch(4 * kFilterColumns * 4);
  const auto run = [&](const EngineKernels& path) {
    path.depthwise({.rows = rows,
                    .row_step = 4,
                    .weights = weights,
                    .bias = bias,
                    .sums = sums,
                    .scratch = scratch.data(),
                    .kernel_rows = 2,
                    .kernel_columns = 3,
                    .pixels = 2,
                    .blocks = 1});
    EXPECT_EQ(sums[5], 50);
    EXPECT_EQ(sums[6], 77);
    EXPECT_EQ(sums[kFilterColumns + 5], 50 + 600);
    EXPECT_EQ(sums[kFilterColumns + 6], 0);
  };
  run(reference::kEngineKernels);
  for (const EngineKernelsPath& path : fast_paths()) run(*path.kernel);
}

TEST(Depthwise8, TilesAreExact) {
  for (const EngineKernelsPath& path : fast_paths()) {
    unsigned seed = 0;
    for (int blocks = 1; blocks <= kFilterBlocks; ++blocks) {
      for (const int pixels : {1, 2, 3, 4, 5, 8, 9, 31, 32}) {
        for (const auto& [rows, columns] :
             {std::pair{3, 3}, {1, 1}, {5, 5}, {4, 2}, {7, 1}, {2, 8}, {9, 3}}) {
          const int stride = 1 + static_cast<int>(seed % 3);
          const int dilation = 1 + static_cast<int>(seed / 3 % 2);
          Depthwise({blocks, pixels, rows, columns, stride, dilation, blocks * 7}, ++seed)
              .expect_definition_on(path);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Depthwise8, TilesOfThreeByThreeAreExactAtEveryLength) {
  for (const EngineKernelsPath& path : fast_paths()) {
    unsigned seed = 100;
    for (int blocks = 1; blocks <= kFilterBlocks; ++blocks) {
      for (const int stride : {1, 2, 3}) {
        for (int pixels = 1; pixels <= 8; ++pixels) {
          Depthwise({blocks, pixels, 3, 3, stride, 1, blocks * 5}, ++seed)
              .expect_definition_on(path);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

// Sums stay below 2^22, so that their products with `large` tie at the smaller shifts alone.
TEST(Depthwise8, RescaledAtOnceIsExact) {
  Random random(8);
  std::vector<std::int32_t> small, large;
  for (int c = 0; c < kFilterColumns; ++c) {
    small.push_back(random.word(0, 100));
    large.push_back(random.is_one_of(4) ? INT32_MAX : random.word(0, INT32_MAX));
  }
  large.push_back(-1);  // may be read
  const std::vector<std::uint8_t> addends = random.bytes(Depthwise::kLines * 33 * kFilterColumns);
  for (const EngineKernelsPath& path : fast_paths()) {
    for (int columns = 1; columns <= kFilterColumns; columns += 5) {
      for (const FilterStorage storage : {FilterStorage::u8, FilterStorage::s32}) {
        for (const int shift : {0, 9, 20, 31, 37, 45, 62}) {
          for (const bool is_negative : {false, true}) {
            for (const bool has_addend : {false, true}) {
              const bool is_wide = shift > 20;
              RescaleTile rescale{.columns = columns,
                                  .multiplier = is_wide ? large.data() : small.data(),
                                  .shift = shift,
                                  .low = is_negative ? -100 : 0,
                                  .high = 127,
                                  .zero = is_negative ? 128 : 0,
                                  .is_wide = is_wide,
                                  .has_ties = shift <= 31,
                                  .storage = storage};
              for (int c = 0; is_wide && c < kFilterColumns; ++c)
                ASSERT_LE(has_ties(1 << 22, size_of(large[size_of(c)]), shift), rescale.has_ties);
              if (has_addend) {
                rescale.addend = {.storage = FilterStorage::u8,
                                  .data = addends.data(),
                                  .stride = kFilterColumns,
                                  .multiplier = small.data(),
                                  .shift = 3,
                                  .zero = 7};
              }
              const Depthwise tile({.blocks = (columns + 15) / 16,
                                    .pixels = random.word(1, 32),
                                    .stride = random.word(1, 2)},
                                   static_cast<unsigned>(columns * 64 + shift));
              ASSERT_EQ(tile.run(*path.kernel, rescale),
                        tile.run(reference::kEngineKernels, rescale))
                  << name_of(path.isa) << ", " << columns << " columns, shift " << shift;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace nibble::inline kernels
