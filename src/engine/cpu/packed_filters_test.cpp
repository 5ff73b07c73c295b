// SPDX-License-Identifier: Apache-2.0
// What panels know of their own outputs.
#include "engine/cpu/packed_filters.h"

#include <gtest/gtest.h>

namespace nibble::inline engine {
namespace {

// A 1×1 layer of 160 outputs with a shortcut, which is in [low, high].
ProductSpec with_shortcut(std::int64_t low, std::int64_t high) {
  constexpr std::int64_t kOutputs = 160;
  ProductSpec spec{
      .in = {.storage = FilterStorage::u8, .channels = 4, .stride = 4},
      .out = {.storage = FilterStorage::u8, .channels = kOutputs, .stride = kOutputs},
      .window = {.channels = kOutputs, .kernel = {1, 1}},
      .weights = std::vector<std::int8_t>(4 * kOutputs, 1),
  };
  spec.finish.addend = 0;
  spec.finish.addend_low = low;
  spec.finish.addend_high = high;
  spec.finish.addend_multiplier = std::vector<std::int64_t>(kOutputs, 3);
  spec.finish.multiplier = std::vector<std::int64_t>(kOutputs, 100);
  spec.finish.shift = 16;
  spec.finish.high = 15;
  spec.finish.is_wide = false;
  return spec;
}

std::vector<bool> are_small(const ProductSpec& spec) {
  const PackedFilters filters(spec, {.taps = 1, .depth = 4, .is_matrix = false});
  std::vector<bool> result;
  for (const FilterPanel& panel : filters.panels()) result.push_back(panel.is_small);
  return result;
}

TEST(PackedFilters, OneLargeFactorMakesOnePanelLarge) {
  ProductSpec spec = with_shortcut(0, 15);
  EXPECT_EQ(are_small(spec), (std::vector{true, true, true}));
  spec.finish.addend_multiplier[127] = 65'535;
  EXPECT_EQ(are_small(spec), (std::vector{true, false, true}));
  spec.finish.multiplier[159] = 32'767;  // 2^16 before it is shifted by 1
  EXPECT_EQ(are_small(spec), (std::vector{true, false, false}));
  spec.finish.is_wide = true;
  EXPECT_EQ(are_small(spec), (std::vector{false, false, false}));
}

TEST(PackedFilters, ShortcutsBelowZeroAreSmallWithoutTies) {
  ProductSpec spec = with_shortcut(-128, 127);
  EXPECT_EQ(are_small(spec), (std::vector{true, true, true}));
  spec.finish.addend_shift = 4;  // 3·8 is half of a step more than 16
  EXPECT_EQ(are_small(spec), (std::vector{false, false, false}));
  spec.finish.addend_multiplier = {16};
  EXPECT_EQ(are_small(spec), (std::vector{true, true, true}));
}

}  // namespace
}  // namespace nibble::inline engine
