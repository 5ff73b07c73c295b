// SPDX-License-Identifier: Apache-2.0
#include "core/checked.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace nibble::inline core {
namespace {

constexpr std::int64_t kMost64 = std::numeric_limits<std::int64_t>::max();

TEST(CheckedArithmetic, GivesWhatFits) {
  EXPECT_EQ(checked_sum(kMost64 - 3, std::int64_t{1}, std::int64_t{2}), kMost64);
  EXPECT_EQ(checked_product(std::int64_t{1} << 31, std::int64_t{1} << 31), std::int64_t{1} << 62);
  EXPECT_EQ(checked_product(std::size_t{1} << 32, (std::size_t{1} << 32) - 1),
            18'446'744'069'414'584'320u);
  EXPECT_EQ(checked_round_up(std::size_t{65}, std::size_t{64}), 128u);
}

TEST(CheckedArithmetic, ThrowsWhereItWouldWrap) {
  EXPECT_THROW(checked_sum(kMost64, std::int64_t{1}), Error);
  EXPECT_THROW(checked_product(std::int64_t{1} << 31, std::int64_t{1} << 31, std::int64_t{2}),
               Error);
  EXPECT_THROW(checked_product(std::size_t{1} << 32, std::size_t{1} << 32), Error);
  EXPECT_THROW(checked_round_up(std::numeric_limits<std::size_t>::max(), std::size_t{64}), Error);
}

}  // namespace
}  // namespace nibble::inline core
