// SPDX-License-Identifier: Apache-2.0
// The sharing out of a gradient's sums: what every split keeps to, and the layers of VGG.
#include "backend/cpu/gradient_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

namespace nibble::inline backend {
namespace {

bool is_whole(const GradientSplit& split, const GradientExtent& extent) {
  return split.rows == extent.row_blocks && split.columns == extent.column_blocks;
}

TEST(GradientSplit, PartsAreSmallAndManyWhereverTheyCanBe) {
  constexpr std::int64_t kCacheBytes = 640 * 1024;
  for (const std::int64_t threads : {1, 2, 3, 14, 16, 64}) {
    for (const std::int64_t rows : {1, 2, 7, 32}) {
      for (const std::int64_t columns : {1, 3, 8}) {
        for (const std::int64_t taps : {1, 9}) {
          for (const std::int64_t terms : {1, 1023, 2048, 16384, 262144}) {
            const GradientExtent extent{rows, columns, taps, terms};
            const GradientSplit split = split_gradient(extent, threads);
            SCOPED_TRACE(std::to_string(threads) + " threads, " + std::to_string(rows) + " x " +
                         std::to_string(columns) + ", " + std::to_string(taps) + " taps, " +
                         std::to_string(terms) + " terms");
            ASSERT_LE(split.rows, rows);
            ASSERT_LE(split.columns, columns);
            ASSERT_TRUE(split.terms == 1 || terms / split.terms >= 1024);
            if (is_whole(split, extent)) continue;
            EXPECT_LE(extent.bytes(), kCacheBytes * split.rows * split.columns);
            EXPECT_GE(split.rows * split.columns * std::max<std::int64_t>(1, terms / 1024),
                      threads);
          }
        }
      }
    }
  }
}

TEST(GradientSplit, OneThreadSumsAllTermsInOnePlace) {
  EXPECT_EQ(split_gradient({8, 2, 9, 262144}, 1).tasks(), 1);
  EXPECT_EQ(split_gradient({32, 8, 9, 16384}, 1).terms, 1);
}

// Each layer of VGG-small at 256 images keeps 16 threads busy.
TEST(GradientSplit, FewSumsShareTermsManySumsShareRowsAndColumns) {
  const auto parts = [](const GradientExtent& extent) {
    const GradientSplit split = split_gradient(extent, 16);
    return std::array{split.rows, split.columns, split.terms};
  };
  using Parts = std::array<std::int64_t, 3>;
  EXPECT_EQ(parts({8, 1, 1, 262144}), (Parts{1, 1, 16}));
  EXPECT_EQ(parts({8, 2, 9, 262144}), (Parts{1, 1, 16}));
  EXPECT_EQ(parts({16, 2, 9, 65536}), (Parts{2, 1, 9}));
  EXPECT_EQ(parts({16, 4, 9, 65536}), (Parts{2, 2, 5}));
  EXPECT_EQ(parts({32, 4, 9, 16384}), (Parts{4, 2, 3}));
  EXPECT_EQ(parts({32, 8, 9, 16384}), (Parts{4, 4, 2}));
}

}  // namespace
}  // namespace nibble::inline backend
