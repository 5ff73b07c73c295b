// SPDX-License-Identifier: Apache-2.0
// The engine's kernel on every path against the definition, bit for bit.
#include "kernels/engine/engine_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/engine/engine_kernels_test_support.h"
#include "kernels/integer_paths.h"

namespace nibble::inline kernels {
namespace {

TEST(EngineKernels, ProductIsWhatTheFormulaSays) {
  Product product({.blocks = 2, .pixels = 2, .taps = 2, .depth = 8});
  product.set_values(0);
  std::ranges::fill(product.weights(), std::int8_t{0});
  std::ranges::fill(product.bias(), 0);
  product.bias()[17] = 1000;
  product.values(0, 1)[6] = 255;
  product.values(1, 1)[1] = 3;
  product.weights()[(1 * 32 + 17) * 4 + 2] = -128;  // tap 0, value 6, output 17
  product.weights()[(2 * 32 + 17) * 4 + 1] = 7;     // tap 1, value 1
  product.weights()[(2 * 32 + 30) * 4 + 1] = -1;
  const std::vector<std::int32_t> sums = product.run(reference::kEngineKernels);
  EXPECT_EQ(sums[17], 1000);
  EXPECT_EQ(sums[kFilterColumns + 17], 1000 - 255 * 128 + 3 * 7);
  EXPECT_EQ(sums[kFilterColumns + 30], -3);
  EXPECT_EQ(sums[kFilterColumns + 31], 0);
  EXPECT_EQ(sums[kFilterColumns + 32], 123'456'789);  // beyond the blocks
  for (const EngineKernelsPath& path : fast_paths()) product.expect_definition_on(path);
}

TEST(EngineKernels, ProductsOfEveryTileAreExact) {
  for (const EngineKernelsPath& path : fast_paths()) {
    for (int blocks = 1; blocks <= kFilterBlocks; ++blocks) {
      const int most = path.kernel->pixels[blocks];
      ASSERT_GE(most, 1);
      ASSERT_LE(most, kFilterPixels);
      for (int pixels = 1; pixels <= most; ++pixels) {
        for (const int taps : {1, 3, 9}) {
          for (const int depth : {4, 8, 20, 64, 148}) {
            const auto rows = static_cast<RowsLie>((pixels + taps + depth / 4) % 3);
            Product({blocks, pixels, taps, depth, rows, depth % 16}).expect_definition_on(path);
            if (testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST(EngineKernels, ProductsOfEveryDepthAreExact) {
  for (const EngineKernelsPath& path : fast_paths()) {
    for (int depth = 4; depth <= 260; depth += 4) {
      for (const RowsLie rows : {RowsLie::apart, RowsLie::evenly, RowsLie::partly_at_zeros}) {
        for (const int largest : {15, 31, 32, 127, 255}) {
          const int blocks = 1 + depth / 4 % kFilterBlocks;
          Product({blocks, path.kernel->pixels[blocks], 2, depth, rows, 0, largest})
              .expect_definition_on(path);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(EngineKernels, ProductsOfDeepLayersAreExact) {
  for (const EngineKernelsPath& path : fast_paths()) {
    for (const auto& [taps, depth] : {std::pair{9, 512}, {1, 4096}, {9, 516}, {49, 4}, {2500, 4}}) {
      for (const int largest : {15, 255}) {
        for (const RowsLie rows : {RowsLie::apart, RowsLie::evenly, RowsLie::partly_at_zeros}) {
          const int pixels = path.kernel->pixels[4];
          Product({4, pixels, taps, depth, rows, 0, largest}).expect_definition_on(path);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(EngineKernels, ProductsOfTheLargestValuesAreExact) {
  for (const EngineKernelsPath& path : fast_paths()) {
    for (const int value : {15, 31, 32, 127, 128, 255}) {
      for (const int weight : {-128, 127}) {
        Product product({.blocks = 4, .pixels = path.kernel->pixels[4], .taps = 9, .depth = 64});
        product.set_values(static_cast<std::uint8_t>(value));
        std::ranges::fill(product.weights(), static_cast<std::int8_t>(weight));
        product.expect_definition_on(path);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// One value in a tile is large: a path that looks at values must see it wherever it lies.
TEST(EngineKernels, OneLargeValueAmongSmallOnesCounts) {
  for (const EngineKernelsPath& path : fast_paths()) {
    const int pixels = path.kernel->pixels[2];
    for (int tap = 0; tap < 2; ++tap) {
      for (int k = 0; k < 44; ++k) {
        Product product({.blocks = 2, .pixels = pixels, .taps = 2, .depth = 44, .largest = 15});
        product.values(tap, k % pixels)[size_of(k)] = 255;
        product.expect_definition_on(path);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// 80 taps of 1024·255·127 pass 2^31 before as many negative ones take them back.
TEST(EngineKernels, SumsMayLeaveTheRangeOnTheWay) {
  for (const EngineKernelsPath& path : fast_paths()) {
    Product product({.blocks = 1, .pixels = 2, .taps = 160, .depth = 1024});
    product.set_values(255);
    auto& weights = product.weights();
    std::fill(weights.begin(), weights.begin() + std::ssize(weights) / 2, std::int8_t{127});
    std::fill(weights.begin() + std::ssize(weights) / 2, weights.end(), std::int8_t{-127});
    product.expect_definition_on(path);
  }
}

constexpr FilterStorage kOutputs[] = {FilterStorage::u8, FilterStorage::u4, FilterStorage::s32};
constexpr FilterStorage kWholeOutputs[] = {FilterStorage::u8, FilterStorage::s32};
constexpr FilterStorage kAddends[] = {FilterStorage::none, FilterStorage::u8, FilterStorage::u4};

TEST(EngineKernels, RescalesOfEveryKindAndShiftAreExact) {
  for (const EngineKernelsPath& path : fast_paths()) {
    Random random(5);
    for (const FilterStorage storage : kOutputs) {
      for (const FilterStorage addend : kAddends) {
        for (const bool is_wide : {false, true}) {
          for (const bool is_negative : {false, true}) {
            for (int shift = 0; shift <= (is_wide ? 62 : 31); ++shift) {
              for (int round = 0; round < 3; ++round) {
                RandomRescale(
                    {storage, addend, is_wide, random.word(1, 12), 64, shift, is_negative}, random)
                    .expect_definition_on(path);
                if (testing::Test::HasFatalFailure()) return;
              }
            }
          }
        }
      }
    }
  }
}

// Those of 16 bits and by halves: many tiles are small, and those that are not stay exact.
TEST(EngineKernels, RescalesOfFewBitsAreExact) {
  Random random(12);
  for (const FilterStorage addend : {FilterStorage::none, FilterStorage::u8, FilterStorage::u4}) {
    int count = 0, small = 0, small_with_zero = 0;
    for (const FilterStorage storage : {FilterStorage::u8, FilterStorage::u4}) {
      for (int shift = 1; shift <= 24; ++shift) {
        for (int turn = 0; turn < 30; ++turn) {
          const int columns = storage == FilterStorage::u8 ? random.word(1, 64) : 64;
          const RandomRescale rescale({storage, addend, false, random.word(1, 9),
                                       turn % 2 == 0 ? 64 : columns, shift, turn % 3 == 2, 1, true},
                                      random);
          for (const EngineKernelsPath& path : fast_paths()) rescale.expect_definition_on(path);
          if (HasFatalFailure()) return;
          ++count;
          if (!rescale.tile().is_small) continue;
          ++small;
          small_with_zero += rescale.tile().addend.zero > 0 ? 1 : 0;
        }
      }
    }
    EXPECT_GT(small, count / 6) << "addend " << static_cast<int>(addend);
    EXPECT_TRUE(addend != FilterStorage::u8 || small_with_zero > count / 20);
  }
}

TEST(EngineKernels, RescalesOfTheLargestSumAreTheLargestRescaled) {
  Random random(9);
  for (const FilterStorage storage : kOutputs) {
    for (const bool is_wide : {false, true}) {
      for (const int window : {2, 3, 4}) {
        for (const int shift : {0, 7, 31, 40}) {
          if (!is_wide && shift > 31) continue;
          const RandomRescale rescale(
              {storage, FilterStorage::none, is_wide, 7, 64, shift, random.is_one_of(2), window},
              random);
          for (const EngineKernelsPath& path : fast_paths()) {
            rescale.expect_definition_on(path);
            if (testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST(EngineKernels, RescalesWriteTheirColumnsAlone) {
  for (const EngineKernelsPath& path : fast_paths()) {
    Random random(6);
    for (const FilterStorage storage : kWholeOutputs) {
      for (const FilterStorage addend : kAddends) {
        for (const bool is_wide : {false, true}) {
          for (int columns = 1; columns <= kFilterColumns; ++columns) {
            const int shift = random.word(0, 24);
            const int pixels = columns % 5 + 1;
            const bool is_negative = random.is_one_of(2);
            RandomRescale({storage, addend, is_wide, pixels, columns, shift, is_negative}, random)
                .expect_definition_on(path);
            if (testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// What one call does, or two where the path has no better way.
std::vector<std::uint8_t> multiplied_and_rescaled(const EngineKernels& path, const Product& product,
                                                  RescaleTile rescale) {
  std::vector<std::int32_t> sums(kFilterPixels * kFilterColumns);
  std::vector<std::uint8_t> out(kFilterPixels * kFilterColumns * 4 + 16, 0xA5);
  const FilterTile tile = product.tile(sums.data());
  rescale.sums = sums.data();
  rescale.pixels = tile.pixels / rescale.window;
  rescale.out = out.data();
  rescale.stride = kFilterColumns * 4;
  if (path.multiply_rescale != nullptr) {
    // In two pieces where there are two pixels.
    const int first = (rescale.pixels + 1) / 2 * rescale.window;
    std::vector<const std::uint8_t*> rows;
    for (const auto& [from, to] : {std::pair{0, first}, {first, tile.pixels}}) {
      for (std::int64_t t = 0; t < tile.taps; ++t) {
        for (int p = from; p < to; ++p) rows.push_back(tile.rows[t * tile.pixels + p]);
      }
    }
    const FilterPiece pieces[2] = {{.rows = rows.data(), .taps = tile.taps, .pixels = first},
                                   {.rows = rows.data() + tile.taps * first,
                                    .taps = tile.taps,
                                    .pixels = tile.pixels - first}};
    path.multiply_rescale(tile, rescale, std::span(pieces, first < tile.pixels ? 2 : 1));
  } else {
    path.multiply(tile);
    path.rescale(rescale);
  }
  return out;
}

// Sums stay below 2^22, addends below 2^15.
TEST(EngineKernels, ProductsRescaledAtOnceAreExact) {
  Random random(7);
  const std::vector<std::uint8_t> addends = random.bytes(kFilterPixels * kFilterColumns);
  std::vector<std::int32_t> multipliers, factors;
  for (int o = 0; o < kFilterColumns; ++o) {
    multipliers.push_back(random.word(0, 100));
    factors.push_back(random.word(0, 100));
  }
  for (const EngineKernelsPath& path : fast_paths()) {
    for (int blocks = 1; blocks <= kFilterBlocks; ++blocks) {
      for (int pixels = 1; pixels <= path.kernel->pixels[blocks]; ++pixels) {
        const Product product({.blocks = blocks, .pixels = pixels, .taps = 1, .depth = 64});
        for (int i = 0; i < 60; ++i) {
          const FilterStorage storage =
              blocks == kFilterBlocks ? kOutputs[i % 3] : kWholeOutputs[i % 2];
          const int largest = storage == FilterStorage::u4 ? 15 : 255;
          const int zero = random.is_one_of(2) ? 0 : random.word(1, largest);
          RescaleTile rescale = {
              .columns = blocks * 16,
              .addend = {.storage = kAddends[i / 3 % 3],
                         .data = addends.data(),
                         .stride = kFilterColumns,
                         .multiplier = factors.data(),
                         .shift = random.word(0, 4),
                         .zero = kAddends[i / 3 % 3] == FilterStorage::u8 ? 9 : 0},
              .multiplier = multipliers.data(),
              .shift = random.word(0, 26),
              .low = -zero,
              .high = largest - zero,
              .zero = zero,
              .is_wide = random.is_one_of(3),
              .storage = storage};
          if (storage != FilterStorage::u4) rescale.columns -= random.word(0, 15);
          if (rescale.addend.storage == FilterStorage::none && pixels % 4 == 0 && i % 2 == 0)
            rescale.window = 4;
          ASSERT_EQ(multiplied_and_rescaled(*path.kernel, product, rescale),
                    multiplied_and_rescaled(reference::kEngineKernels, product, rescale))
              << name_of(path.isa) << ": " << blocks << " blocks, " << pixels << " pixels, case "
              << i;
        }
      }
    }
  }
}

std::int32_t rescaled(const EngineKernels& path, std::int32_t sum, std::int32_t multiplier,
                      int shift, std::int32_t low, std::int32_t high, bool is_wide) {
  std::vector<std::int32_t> sums(kFilterColumns, sum);
  std::vector<std::int32_t> multipliers(kFilterColumns + 1, multiplier);
  std::vector<std::int32_t> out(kFilterColumns);
  path.rescale({.sums = sums.data(),
                .pixels = 1,
                .columns = kFilterColumns,
                .multiplier = multipliers.data(),
                .shift = shift,
                .low = low,
                .high = high,
                .is_wide = is_wide,
                .storage = FilterStorage::s32,
                .out = out.data()});
  EXPECT_TRUE(std::ranges::all_of(out, [&](std::int32_t y) { return y == out[0]; }));
  return out[0];
}

// Bounds may lie beyond the bytes that results are known to fit.
TEST(EngineKernels, BytesMayHaveBoundsBeyondThem) {
  const std::vector<std::int32_t> sums(kFilterColumns, 200), multipliers(kFilterColumns + 1, 1);
  constexpr std::int32_t kMost = INT32_MAX;
  for (const EngineKernelsPath& path : fast_paths()) {
    for (const auto& [is_wide, zero] : {std::pair{false, 0}, {true, 0}, {false, 55}, {true, 55}}) {
      std::vector<std::uint8_t> out(kFilterColumns);
      path.kernel->rescale({.sums = sums.data(),
                            .pixels = 1,
                            .columns = kFilterColumns,
                            .multiplier = multipliers.data(),
                            .low = -kMost,
                            .high = kMost,
                            .zero = zero,
                            .is_wide = is_wide,
                            .out = out.data()});
      EXPECT_EQ(out,
                std::vector<std::uint8_t>(kFilterColumns, static_cast<std::uint8_t>(200 + zero)))
          << name_of(path.isa);
    }
  }
}

TEST(EngineKernels, TiesGoAwayFromZeroAndResultsStayWithinBounds) {
  std::vector<EngineKernelsPath> paths = fast_paths();
  paths.push_back({Isa::reference, &reference::kEngineKernels});
  for (const EngineKernelsPath& named : paths) {
    const Isa isa = named.isa;
    const EngineKernels* path = named.kernel;
    for (const bool is_wide : {false, true}) {
      const auto of = [&](std::int32_t sum, std::int32_t m, int shift) {
        return rescaled(*path, sum, m, shift, -100, 100, is_wide);
      };
      EXPECT_EQ(of(5, 1, 1), 3) << name_of(isa);  // 2.5
      EXPECT_EQ(of(-5, 1, 1), -3) << name_of(isa);
      EXPECT_EQ(of(3, 2, 2), 2) << name_of(isa);  // 1.5
      EXPECT_EQ(of(-3, 2, 2), -2) << name_of(isa);
      EXPECT_EQ(of(5, 1, 2), 1) << name_of(isa);  // 1.25
      EXPECT_EQ(of(-7, 1, 2), -2) << name_of(isa);
      EXPECT_EQ(of(-7, 1, 0), -7) << name_of(isa);
      EXPECT_EQ(of(1000, 7, 3), 100) << name_of(isa);
      EXPECT_EQ(of(-1000, 7, 3), -100) << name_of(isa);
      EXPECT_EQ(rescaled(*path, -9, 1, 1, 0, 15, is_wide), 0) << name_of(isa);
      EXPECT_EQ(rescaled(*path, 29, 1, 1, 0, 15, is_wide), 15) << name_of(isa);  // 14.5
      EXPECT_EQ(rescaled(*path, 1, 1, 1, 2, 15, is_wide), 2) << name_of(isa);
    }
    EXPECT_EQ(rescaled(*path, -2147483647 - 1, 2147483647, 62, -100, 100, true), -1)
        << name_of(isa);
    EXPECT_EQ(rescaled(*path, 2147483647, 2147483647, 33, -100, 600'000'000, true), 536'870'912)
        << name_of(isa);  // 2^29 - 1/2 + 2^-33
  }
}

// y = R(R((x - 2)·3, 1) + sum, 0), clamped, + 8, in halves.
TEST(EngineKernels, AddendsAndZerosAreWhatTheFormulaSays) {
  std::vector<EngineKernelsPath> paths = fast_paths();
  paths.push_back({Isa::reference, &reference::kEngineKernels});
  std::vector<std::int32_t> sums(kFilterColumns, 0);
  sums[1] = 2;
  sums[33] = -100;
  const std::vector<std::int32_t> ones(kFilterColumns, 1);
  const std::vector<std::int32_t> threes(kFilterColumns, 3);
  std::vector<std::uint8_t> addends(kFilterColumns, 2);
  addends[0] = 1;
  addends[32] = 3;
  for (const auto& [isa, path] : paths) {
    std::vector<std::uint8_t> out(32);
    path->rescale({.sums = sums.data(),
                   .pixels = 1,
                   .columns = kFilterColumns,
                   .addend = {.storage = FilterStorage::u8,
                              .data = addends.data(),
                              .multiplier = threes.data(),
                              .shift = 1,
                              .zero = 2},
                   .multiplier = ones.data(),
                   .low = -8,
                   .high = 7,
                   .zero = 8,
                   .is_wide = false,
                   .storage = FilterStorage::u4,
                   .out = out.data()});
    EXPECT_EQ(out[0], (8 - 2) | (8 + 2) << 4) << name_of(isa);  // -1.5 and 1.5 rounded
    EXPECT_EQ(out[1], (8 + 2) | 0 << 4) << name_of(isa);
    EXPECT_EQ(out[2], 8 | 8 << 4) << name_of(isa);
  }
}

TEST(EngineKernels, ExpandedHalvesAreExact) {
  std::vector<std::uint8_t> from(64);
  from[3] = 0x8F;
  std::vector<std::int8_t> pinned(128);
  reference::kEngineKernels.expand_s4(from.data(), pinned.data(), 1);
  EXPECT_EQ(pinned[3], -1);
  EXPECT_EQ(pinned[67], -8);
  for (const auto& [isa, path] : fast_paths()) {
    for (const int groups : {0, 1, 2, 7}) {
      from = Random(8).bytes(groups * 64);
      std::vector<std::int8_t> expected(size_of(groups * 128 + 1), 99), got = expected;
      reference::kEngineKernels.expand_s4(from.data(), expected.data(), groups);
      path->expand_s4(from.data(), got.data(), groups);
      EXPECT_EQ(got, expected) << name_of(isa);
      std::vector<std::uint8_t> expected_u4(size_of(groups * 64 + 1), 99), got_u4 = expected_u4;
      from.resize(size_of(groups * 32));
      from.shrink_to_fit();
      reference::kEngineKernels.expand_u4(from.data(), expected_u4.data(), groups);
      path->expand_u4(from.data(), got_u4.data(), groups);
      EXPECT_EQ(got_u4, expected_u4) << name_of(isa);
    }
  }
}

TEST(EngineKernels, LargestValuesAndSumsOfRowsAreExact) {
  Random random(9);
  for (const int bytes : {1, 2, 15, 16, 31, 33, 64, 77, 200}) {
    for (const int count : {1, 2, 4, 9}) {
      std::vector<std::vector<std::uint8_t>> values;
      std::vector<const std::uint8_t*> rows;
      for (int r = 0; r < count; ++r) values.push_back(random.bytes(bytes));
      for (const auto& row : values) rows.push_back(row.data());
      const auto all_of = [&](const EngineKernels& path) {
        std::vector<std::uint8_t> largest(size_of(bytes + 1), 99), halves = largest;
        std::vector<std::int32_t> sums(size_of(bytes + 1), 1000);
        path.largest_u8(rows.data(), count, largest.data(), bytes);
        path.largest_u4(rows.data(), count, halves.data(), bytes);
        path.add_u8(rows.data(), count, sums.data(), bytes);
        return std::tuple(largest, halves, sums);
      };
      for (const auto& [isa, path] : fast_paths()) {
        EXPECT_EQ(all_of(*path), all_of(reference::kEngineKernels)) << name_of(isa) << ' ' << bytes;
      }
    }
  }
}

}  // namespace
}  // namespace nibble::inline kernels
