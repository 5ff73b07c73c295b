// SPDX-License-Identifier: Apache-2.0
// Tests of posits: every code and midpoint of every posit up to 16 bits.
#include "numerics/element_families.h"

#include <gtest/gtest.h>

#include <vector>

#include "nibble/core/error.h"
#include "numerics/test_number_line.h"

namespace nibble::inline numerics {
namespace {

// The value of a positive code from the standard's formula, read from a string of its bits.
double posit_value(int bits, int es, std::uint32_t code) {
  std::string text;
  for (int i = bits - 2; i >= 0; --i) text += (code >> i & 1) != 0 ? '1' : '0';
  const std::size_t stop = std::min(text.find(text[0] == '1' ? '0' : '1'), text.size());
  const int regime = text[0] == '1' ? static_cast<int>(stop) - 1 : -static_cast<int>(stop);
  text = stop + 1 < text.size() ? text.substr(stop + 1) : "";
  text.resize(std::max(text.size(), static_cast<std::size_t>(es)),
              '0');  // bits beyond the word are zero
  int exponent = 0;
  for (int i = 0; i < es; ++i) exponent = 2 * exponent + (text[static_cast<std::size_t>(i)] - '0');
  double fraction = 1;
  double weight = 0.5;
  for (std::size_t i = static_cast<std::size_t>(es); i < text.size(); ++i, weight /= 2) {
    if (text[i] == '1') fraction += weight;
  }
  return fraction * std::exp2(regime * (1 << es) + exponent);
}

LinePoint place_of(const PositElement& p, std::uint32_t code) {
  const double value = posit_value(p.bits, p.exponent_bits, code);
  return {value, code, value};
}

Gap mirrored(const PositElement& p, const Gap& gap) {
  const std::uint32_t mask = static_cast<std::uint32_t>((std::uint64_t{1} << p.bits) - 1);
  const auto negated = [&](const LinePoint& place) {
    return LinePoint{-place.value, (~place.code + 1) & mask, -place.result};
  };
  return {negated(gap.high), negated(gap.low), -gap.middle};
}

testing::AssertionResult code_and_gap_are_right(const PositElement& p, std::uint32_t code) {
  const LinePoint place = place_of(p, code);
  const std::uint32_t nar = std::uint32_t{1} << (p.bits - 1);
  const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << p.bits) - 1);
  auto result = stays(p, place.value, code);
  if (result) result = stays(p, -place.value, (~code + 1) & mask);
  if (!result || code + 1 == nar) return result;
  const Gap gap{place, place_of(p, code + 1),
                posit_value(p.bits + 1, p.exponent_bits, 2 * code + 1)};
  result = gap_rounds_as_expected(p, gap);
  return result ? gap_rounds_as_expected(p, mirrored(p, gap)) : result;
}

TEST(PositElement, EveryCodeAndMidpointUpToSixteenBitsGoesWhereItMust) {
  for (int bits = 2; bits <= 16; ++bits) {
    for (int es = 0; es <= 3; ++es) {
      const PositElement p{bits, es};
      for (std::uint32_t code = 1; code < 1U << (bits - 1); ++code) {
        ASSERT_TRUE(code_and_gap_are_right(p, code))
            << "posit(" << bits << "," << es << ") " << code;
      }
    }
  }
}

TEST(PositElement, CodesOfWidePositsGoWhereTheyMust) {
  for (const PositElement p : {PositElement{32, 2}, PositElement{32, 3}, PositElement{24, 0}}) {
    const auto half = (std::uint64_t{1} << (p.bits - 1)) - 1;
    for (std::uint64_t code = 1; code <= half; code = code * 9 / 8 + 1) {
      for (const std::uint64_t c : {code, half - code + 1}) {
        ASSERT_TRUE(code_and_gap_are_right(p, static_cast<std::uint32_t>(c))) << c;
      }
    }
  }
}

TEST(PositElement, KnownCodesHaveTheirValues) {
  EXPECT_EQ(decode_code(PositElement{8, 2}, 0x40), 1.0);
  EXPECT_EQ(decode_code(PositElement{8, 2}, 0x7F), 0x1p24);
  EXPECT_EQ(decode_code(PositElement{8, 2}, 0x01), 0x1p-24);
  EXPECT_EQ(decode_code(PositElement{8, 1}, 0x50), 2.0);
  EXPECT_EQ(decode_code(PositElement{8, 0}, 0x60), 2.0);
  EXPECT_EQ(decode_code(PositElement{8, 0}, 0xC0), -1.0);
  EXPECT_EQ(decode_code(PositElement{16, 3}, 0x0DDD), 477 * 0x1p-27);  // Gustafson's example
  EXPECT_EQ(encode_value(PositElement{32, 2}, 1.0), 0x40000000U);
}

TEST(PositElement, TheLargestAndSmallestValuesAreInverse) {
  for (int bits = 2; bits <= 32; ++bits) {
    for (int es = 0; es <= 3; ++es) {
      const ElementInfo info = describe(PositElement{bits, es});
      EXPECT_EQ(info.max, std::exp2((bits - 2) * (1 << es)));
      EXPECT_EQ(info.min_positive, 1 / info.max);
      EXPECT_EQ(info.lowest, -info.max);
      EXPECT_FALSE(info.has_infinity);
      EXPECT_TRUE(info.has_nan);
    }
  }
  EXPECT_TRUE(describe(PositElement{32, 2}).quantizes_fp32);
  EXPECT_FALSE(describe(PositElement{32, 2}).decodes_to_fp32);
  EXPECT_FALSE(describe(PositElement{32, 3}).quantizes_fp32);
}

TEST(PositElement, NothingButZeroBecomesZeroAndNothingFiniteBecomesNar) {
  const PositElement p{8, 2};
  for (const RoundingMode mode : kExactModes) {
    EXPECT_EQ(round_to(p, 1e-300, {mode}), 0x1p-24);
    EXPECT_EQ(round_to(p, -0x1p-25, {mode}), -0x1p-24);
    EXPECT_EQ(round_to(p, 1e300, {mode}), 0x1p24);
    EXPECT_EQ(round_to(p, -0x1.8p24, {mode}), -0x1p24);
    EXPECT_TRUE(std::isnan(round_to(p, kInfinity, {mode})));
    EXPECT_TRUE(std::isnan(round_to(p, -kInfinity, {mode}, Overflow::saturate)));
    EXPECT_TRUE(is_same(round_to(p, -0.0, {mode}), 0.0));
  }
}

TEST(PositElement, NarIsTheCodeOfTheSignBit) {
  EXPECT_EQ(encode_value(PositElement{8, 2}, std::nan("")), 0x80U);
  EXPECT_TRUE(std::isnan(decode_code(PositElement{8, 2}, 0x80)));
  EXPECT_TRUE(std::isnan(decode_code(PositElement{32, 2}, 0x80000000U)));
  EXPECT_EQ(encode_value(PositElement{8, 2}, -0.0), 0U);
}

TEST(PositElement, StochasticUsesTheDistanceBetweenTheNeighbours) {
  // posit(8,2) has 2^20 and 2^24 beside each other: nearest turns at 2^22, draws see the distances.
  const PositElement p{8, 2};
  const double low = 0x1p20;
  const double high = 0x1p24;
  EXPECT_EQ(round_to(p, 0x1p22, {}), low);  // the tie goes to the even code
  for (const int r : {1, 5, 12}) {
    for (const double x : {0x1p20 + 1, 0x1.5p22, 0x1.23456789p23, 0x1.fffffp23}) {
      const double share = std::ldexp(x - low, r) / (high - low);  // far from an integer
      EXPECT_EQ(draws_that_move(p, x, low, r), static_cast<std::uint32_t>(share)) << x;
      EXPECT_EQ(draws_that_move(p, -x, -low, r), static_cast<std::uint32_t>(share)) << x;
    }
    EXPECT_EQ(draws_that_move(p, (low + high) / 2, low, r), 1U << (r - 1));
    const double fifth = low + (high - low) / 5;  // exact: the width is 15·2^20
    EXPECT_EQ(draws_that_move(p, fifth, low, r), (1U << r) / 5);
  }
}

TEST(PositElement, ImpossiblePositsAreRefused) {
  EXPECT_THROW(check(PositElement{1, 0}), Error);
  EXPECT_THROW(check(PositElement{33, 2}), Error);
  EXPECT_THROW(check(PositElement{8, 4}), Error);
  EXPECT_THROW(check(PositElement{8, -1}), Error);
}

}  // namespace
}  // namespace nibble::inline numerics
