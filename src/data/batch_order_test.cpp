// SPDX-License-Identifier: Apache-2.0
// Tests of orders by counter: permutations, fair, the same for everyone.
#include "data/batch_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "nibble/core/error.h"
#include "nibble/core/philox.h"

namespace nibble::inline data {
namespace {

using Order = std::vector<std::int32_t>;

Order identity(std::int32_t count) {
  Order order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

TEST(EpochOrder, IsAPermutation) {
  for (const std::int32_t count : {0, 1, 2, 3, 64, 1797}) {
    Order order = epoch_order(count, 5, 1);
    std::ranges::sort(order);
    EXPECT_EQ(order, identity(count));
  }
}

TEST(EpochOrder, FollowsTheTextOfTheHeader) {
  const std::int32_t count = 100000;  // so many that some draws are refused
  const RandomKey key{.seed = 0x123456789, .stream = 0xDA7A0001u, .step = 7};
  Order expected = identity(count);
  int refused = 0;
  for (std::uint64_t i = count - 1; i >= 1; --i) {
    std::uint64_t element = i;
    std::uint64_t x = draw32(key, element);
    while (x * (i + 1) % (1ULL << 32) < (1ULL << 32) % (i + 1)) {
      x = draw32(key, element += 1ULL << 32);
      ++refused;
    }
    std::swap(expected[i], expected[x * (i + 1) >> 32]);
  }
  EXPECT_GT(refused, 0);
  EXPECT_EQ(epoch_order(count, 0x123456789, 7), expected);
}

TEST(EpochOrder, NeverChanges) {
  EXPECT_EQ(epoch_order(8, 1, 0), (Order{6, 0, 5, 1, 4, 3, 7, 2}));
}

TEST(EpochOrder, DependsOnSeedAndEpoch) {
  const Order order = epoch_order(100, 1, 0);
  EXPECT_EQ(order, epoch_order(100, 1, 0));
  EXPECT_NE(order, epoch_order(100, 2, 0));
  EXPECT_NE(order, epoch_order(100, 1ULL << 32 | 1, 0));
  EXPECT_NE(order, epoch_order(100, 1, 1));
}

TEST(EpochOrder, GivesEveryPermutationItsShare) {
  constexpr int kEpochs = 24000;
  std::map<Order, int> counts;
  for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) ++counts[epoch_order(4, 9, epoch)];
  ASSERT_EQ(counts.size(), 24U);
  double chi_square = 0;
  for (const auto& [order, count] : counts) {
    chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  }
  EXPECT_LT(chi_square, 49.7) << "23 degrees of freedom, 1 in 1,000";
}

TEST(EpochOrder, RefusesNegativeCounts) {
  EXPECT_THROW(epoch_order(-1, 0, 0), Error);
}

TEST(HoldOut, PartsAreAscendingAndMakeTheWhole) {
  const HoldOut parts = hold_out(1000, 150, 3);
  EXPECT_EQ(parts.validation.size(), 150U);
  EXPECT_TRUE(std::ranges::is_sorted(parts.train));
  EXPECT_TRUE(std::ranges::is_sorted(parts.validation));
  Order all;
  std::ranges::merge(parts.train, parts.validation, std::back_inserter(all));
  EXPECT_EQ(all, identity(1000));
  EXPECT_NE(parts.validation, hold_out(1000, 150, 4).validation);
}

TEST(HoldOut, GrowsByAddingImages) {
  const HoldOut few = hold_out(500, 50, 3);
  const HoldOut many = hold_out(500, 90, 3);
  EXPECT_TRUE(std::ranges::includes(many.validation, few.validation));
}

TEST(HoldOut, MayBeNothingOrEverythingButNotMore) {
  EXPECT_TRUE(hold_out(10, 0, 1).validation.empty());
  EXPECT_TRUE(hold_out(10, 10, 1).train.empty());
  EXPECT_THROW(hold_out(10, 11, 1), Error);
  EXPECT_THROW(hold_out(10, -1, 1), Error);
}

}  // namespace
}  // namespace nibble::inline data
