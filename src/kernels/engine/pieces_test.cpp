// SPDX-License-Identifier: Apache-2.0
// Tiles of many pixels in one call, where products of one run beside the rescale of another.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "kernels/engine/engine_kernels_test_support.h"
#include "kernels/integer_paths.h"
#include "laws/rescale_ties.h"

namespace nibble::inline kernels {
namespace {

constexpr FilterStorage kStorages[] = {FilterStorage::none, FilterStorage::u8, FilterStorage::u4,
                                       FilterStorage::s32};

// Pieces of so many pixels of one product.
class Pieces {
 public:
  Pieces(const std::vector<int>& pixels, int taps, int depth, Random& random, int blocks) {
    for (const int count : pixels) {
      products_.emplace_back(
          ProductShape{.blocks = blocks, .pixels = count, .taps = taps, .depth = depth},
          static_cast<unsigned>(random.word(1, 1000)));
      // Some pieces lack the first of their taps.
      first_taps_.push_back(taps > 1 && random.is_one_of(4) ? 1 : 0);
    }
    sums_.resize(kFilterPixels * kFilterColumns);
  }

  std::vector<std::uint8_t> rescaled_on(const EngineKernels& path, RescaleTile rescale) {
    std::vector<std::uint8_t> out(4 * kFilterPixels * kFilterColumns + 16, 0xA5);
    rescale.sums = sums_.data();
    rescale.out = out.data();
    const FilterTile whole = products_[0].tile(sums_.data());
    std::vector<FilterPiece> pieces;
    for (std::size_t i = 0; i < products_.size(); ++i) {
      const FilterTile tile = products_[i].tile(sums_.data());
      pieces.push_back({.rows = tile.rows + first_taps_[i] * tile.pixels,
                        .first_tap = first_taps_[i],
                        .taps = tile.taps - first_taps_[i],
                        .pixels = tile.pixels});
    }
    if (path.multiply_rescale != nullptr) {
      path.multiply_rescale(whole, rescale, pieces);
      return out;
    }
    for (const FilterPiece& piece : pieces) {
      path.multiply(piece.of(whole));
      rescale.pixels = piece.pixels;
      path.rescale(rescale);
      rescale.out = static_cast<std::uint8_t*>(rescale.out) + piece.pixels * rescale.stride;
      rescale.addend.data += piece.pixels * rescale.addend.stride;
    }
    return out;
  }

 private:
  std::vector<Product> products_;
  std::vector<int> first_taps_;
  std::vector<std::int32_t> sums_;
};

// Sums stay below 2^25, times multipliers below 2^31.
TEST(FilterPieces, AreRescaledAsOneByOne) {
  Random random(11);
  const std::vector<std::uint8_t> addends = random.bytes(kFilterPixels * kFilterColumns);
  std::vector<std::int32_t> multipliers, large, factors;
  for (int o = 0; o < kFilterColumns; ++o) {
    multipliers.push_back(random.word(0, 100));
    large.push_back(random.word(0, INT32_MAX));
    factors.push_back(random.word(0, 100));
  }
  const auto ties = [&](int shift) {
    return std::ranges::any_of(std::span(large).first(kFilterColumns), [&](std::int32_t m) {
      return has_ties(1 << 25, static_cast<std::uint64_t>(m), shift);
    });
  };
  large.push_back(-1);  // may be read
  struct Cut {
    int blocks;
    std::vector<int> pixels;
  };
  const std::vector<Cut> cuts = {
      {4, {6}},         {4, {6, 6}},       {4, {5, 6, 6, 6}}, {4, {6, 5, 6, 1}}, {4, {6, 6, 6, 2}},
      {4, {3, 3}},      {3, {8, 8, 6, 7}}, {2, {12}},         {2, {12, 12, 7}},  {2, {6, 6, 12, 6}},
      {2, {11, 12, 6}}, {2, {6, 5}},       {1, {12, 6, 12}}};
  for (const auto& [taps, depth] : {std::pair{1, 64},
                                    {1, 48},
                                    {1, 52},
                                    {1, 44},
                                    {2, 24},
                                    {7, 24},
                                    {3, 28},
                                    {2, 20},
                                    {9, 64},
                                    {1, 24},
                                    {1, 16},
                                    {3, 12},
                                    {1, 8}}) {
    for (const auto& [blocks, pixels] : cuts) {
      Pieces pieces(pixels, taps, depth, random, blocks);
      for (const FilterStorage storage : std::span(kStorages).subspan(1)) {
        if (storage == FilterStorage::u4 && blocks < kFilterBlocks) continue;
        for (const FilterStorage addend : std::span(kStorages).first(3)) {
          const int width = random.word(0, 2);  // narrow, wide, of 31 bits
          const int largest = storage == FilterStorage::u4 ? 15 : random.word(1, 255);
          const int zero = random.is_one_of(2) ? 0 : random.word(1, largest);
          const int shift = width == 2 ? random.word(31, 45) : random.word(0, 26);
          const RescaleTile rescale = {
              .columns =
                  blocks * 16 - (storage == FilterStorage::u4 || !random.is_one_of(3) ? 0 : 4),
              .addend = {.storage = addend,
                         .data = addends.data(),
                         .stride = kFilterColumns,
                         .multiplier = factors.data(),
                         .shift = random.word(0, 4),
                         .zero = addend == FilterStorage::u8 ? 9 : 0},
              .multiplier = width == 2 ? large.data() : multipliers.data(),
              .shift = shift,
              .low = -zero,
              .high = largest - zero,
              .zero = zero,
              .is_wide = width > 0,
              .has_ties = width != 2 || ties(shift),
              .storage = storage,
              .stride = kFilterColumns * 4};
          const std::vector<std::uint8_t> wanted =
              pieces.rescaled_on(reference::kEngineKernels, rescale);
          for (const EngineKernelsPath& path : fast_paths()) {
            if (std::ranges::max(pixels) > path.kernel->pixels[blocks]) continue;
            ASSERT_EQ(pieces.rescaled_on(*path.kernel, rescale), wanted)
                << name_of(path.isa) << ": " << taps << " taps of " << depth << ", " << blocks
                << " blocks, " << pixels.size() << " pieces, storage " << static_cast<int>(storage)
                << ", addend " << static_cast<int>(addend) << ", width " << width;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace nibble::inline kernels
