// SPDX-License-Identifier: Apache-2.0
// Tests of codebooks: entries stay, others go to their neighbours, exact whatever the exponents.
#include "numerics/element_families.h"

#include <gtest/gtest.h>

#include "nibble/core/error.h"
#include "numerics/format_names.h"
#include "numerics/test_number_line.h"

namespace nibble::inline numerics {
namespace {

CodebookElement table(std::vector<float> values) {
  return {"", std::move(values)};
}

LinePoint place_of(const CodebookElement& c, std::size_t i) {
  const double value = c.values[i];
  return {value, static_cast<std::uint32_t>(i), value};
}

// For entries whose sums are doubles.
testing::AssertionResult every_entry_and_gap_is_right(const CodebookElement& c) {
  for (std::size_t i = 0; i < c.values.size(); ++i) {
    auto result = stays(c, c.values[i], static_cast<std::uint32_t>(i));
    if (!result || i + 1 == c.values.size()) return result;
    const Gap gap{place_of(c, i), place_of(c, i + 1),
                  (static_cast<double>(c.values[i]) + static_cast<double>(c.values[i + 1])) / 2};
    result = gap_rounds_as_expected(c, gap);
    if (!result) return result;
  }
  return testing::AssertionFailure() << "no entries";
}

TEST(CodebookElement, EveryEntryAndMidpointOfTheNamedTablesGoesWhereItMust) {
  for (const char* name : {"nf4", "new_format", "act_format"}) {
    EXPECT_TRUE(every_entry_and_gap_is_right(*codebook_by_name(name))) << name;
  }
}

TEST(CodebookElement, EveryEntryAndMidpointOfTablesWithoutZeroGoesWhereItMust) {
  EXPECT_TRUE(every_entry_and_gap_is_right(table({-1, 1})));
  EXPECT_TRUE(every_entry_and_gap_is_right(table({-3, -1, 2, 7})));
  EXPECT_TRUE(every_entry_and_gap_is_right(table({1, 1.25F, 8})));
}

TEST(CodebookElement, TheNamedTablesHaveTheirSizes) {
  const CodebookElement nf4 = *codebook_by_name("nf4");
  EXPECT_EQ(nf4.values.size(), 16U);
  EXPECT_EQ(nf4.values[1], -0.6961928009986877F);
  EXPECT_EQ(nf4.values[7], 0.0F);
  EXPECT_EQ(nf4.values[13], 0.5626170039176941F);
  EXPECT_EQ(describe(nf4).code_bits, 4);
  EXPECT_EQ(describe(nf4).max, 1);
  EXPECT_EQ(describe(nf4).lowest, -1);
  EXPECT_FALSE(describe(nf4).has_nan);
  const CodebookElement fork = *codebook_by_name("new_format");
  EXPECT_EQ(fork.values.size(), 65U);  // 32 magnitudes, both signs, zero
  EXPECT_EQ(describe(fork).code_bits, 7);
  EXPECT_EQ(describe(fork).min_positive, 0x1p-16);
  EXPECT_EQ(describe(*codebook_by_name("act_format")).max, 16);
  EXPECT_FALSE(codebook_by_name("nf5"));
}

TEST(CodebookElement, ValuesBeyondTheTableGoToItsEnds) {
  const CodebookElement c = table({-3, 1, 2});
  for (const RoundingMode mode : kExactModes) {
    EXPECT_EQ(round_to(c, 1e300, {mode}), 2);
    EXPECT_EQ(round_to(c, kInfinity, {mode}), 2);
    EXPECT_EQ(round_to(c, -kInfinity, {mode}), -3);
    EXPECT_EQ(round_to(c, -3.0001, {mode}), -3);
  }
  EXPECT_TRUE(std::isnan(round_to(c, std::nan(""), {})));
}

TEST(CodebookElement, ZeroIsPositive) {
  EXPECT_TRUE(is_same(round_to(*codebook_by_name("nf4"), -0.0, {}), 0.0));
  EXPECT_TRUE(is_same(round_to(*codebook_by_name("nf4"), -1e-9, {}), 0.0));
}

TEST(CodebookElement, MidpointsAreExactBetweenWildlyDifferentEntries) {
  const CodebookElement c = table({-1e30F, 1e-30F, 1, 1e30F});
  // The middle of 1e-30 and 1 lies a hair above 0.5: no double is on it, but 0.5 is below.
  EXPECT_EQ(round_to(c, 0.5, {RoundingMode::nearest_away}), static_cast<double>(1e-30F));
  EXPECT_EQ(round_to(c, std::nextafter(0.5, 1), {}), 1);
  const double half = static_cast<double>(1e30F) / 2;  // the middle of 1 and 1e30 lies 0.5 above it
  EXPECT_EQ(round_to(c, half, {RoundingMode::nearest_away}), 1);
  EXPECT_EQ(round_to(c, std::nextafter(half, 1e31), {}), static_cast<double>(1e30F));
  EXPECT_EQ(round_to(c, -half, {RoundingMode::toward_zero}), static_cast<double>(1e-30F));
  EXPECT_EQ(round_to(c, -half, {}), -static_cast<double>(1e30F));  // their middle lies above -half
  EXPECT_EQ(round_to(c, std::nextafter(-half, 0), {}), static_cast<double>(1e-30F));
}

TEST(CodebookElement, TheSmallestDoubleStillHasASide) {
  const CodebookElement c = table({-1, 1});
  for (const double x : {0x1p-1074, 1e-200, 0x1p-150}) {
    EXPECT_EQ(round_to(c, x, {}), 1);
    EXPECT_EQ(round_to(c, -x, {}), -1);
    EXPECT_EQ(draws_that_move(c, -x, -1, 4), 7U);  // f just below one half
    EXPECT_EQ(draws_that_move(c, x, -1, 4), 8U);
  }
}

TEST(CodebookElement, StochasticMovesByExactlyTheDiscardedFraction) {
  const CodebookElement c = table({-7, -2, 0, 1, 6});
  for (const int r : {1, 3, 12}) {
    for (int i = 1; i < 40; ++i) {
      const auto expected =
          static_cast<std::uint32_t>((std::uint64_t{1} << r) * static_cast<unsigned>(i) / 40);
      EXPECT_EQ(draws_that_move(c, 1 + i / 8.0, 1, r), expected) << i;
      EXPECT_EQ(draws_that_move(c, -2 - i / 8.0, -2, r), expected) << i;
    }
  }
}

TEST(CodebookElement, StochasticIsExactWhereTheWidthOfTheCellIsNoDouble) {
  // f of 0.5 is (0.5 - t) / (1 - t), below one half, though every difference rounds to a power of
  // two.
  const CodebookElement c = table({0x1p-60F, 1});
  EXPECT_EQ(draws_that_move(c, 0.5, 0x1p-60, 1), 0U);
  EXPECT_EQ(draws_that_move(c, 0.5, 0x1p-60, 12), 2047U);
  EXPECT_EQ(draws_that_move(table({-0x1p-60F, 1}), 0.5, -0x1p-60, 12), 2048U);
  // f of x is 2^-32 / (1 + 2^-60): below the least fraction that 32 bits see.
  const Rounding wide{RoundingMode::stochastic, 32};
  const double x = 0x1p-32 - 0x1p-60;
  EXPECT_EQ(round_to(table({-0x1p-60F, 1}), x, wide, Overflow::native, 0), -0x1p-60);
  EXPECT_EQ(round_to(table({-0x1p-60F, 1}), x + 0x1p-80, wide, Overflow::native, 0), 1);
  const CodebookElement wild = table({-1e30F, 1e-30F, 1, 1e30F});
  EXPECT_EQ(draws_that_move(wild, 0.25, 1e-30F, 12), 1023U);
  EXPECT_EQ(draws_that_move(wild, 1e-30, 1e-30F, 12), 0U);
  EXPECT_EQ(draws_that_move(wild, static_cast<double>(1e30F) / 4, 1, 12), 1023U);
}

TEST(CodebookElement, OnlyEntriesHaveCodes) {
  const CodebookElement c = table({-3, 1, 2});
  EXPECT_EQ(encode_value(c, 1), 1U);
  EXPECT_THROW(encode_value(c, 1.5), Error);
  EXPECT_THROW(encode_value(c, std::nan("")), Error);
  EXPECT_THROW(decode_code(c, 3), Error);  // fits two bits, is no entry
  EXPECT_THROW(decode_code(c, 4), Error);
}

TEST(CodebookElement, TablesAreFiniteAscendingAndOfTwoEntriesAtLeast) {
  EXPECT_THROW(check(table({1})), Error);
  EXPECT_THROW(check(table({2, 1})), Error);
  EXPECT_THROW(check(table({1, 1})), Error);
  EXPECT_THROW(check(table({0, std::numeric_limits<float>::infinity()})), Error);
  EXPECT_NO_THROW(check(table({-2, -1})));
}

}  // namespace
}  // namespace nibble::inline numerics
