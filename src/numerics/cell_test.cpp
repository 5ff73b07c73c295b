// SPDX-License-Identifier: Apache-2.0
// Tests of the rounding decision: every mode on every side of the middle.
#include "numerics/cell.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace nibble::inline numerics {
namespace {

bool moves(RoundingMode mode, const Cell& cell, double x) {
  return goes_away(cell, x, {mode}, 0);
}

Cell cell_of(double toward, double away, int versus_middle, bool toward_is_odd) {
  return {.toward = toward,
          .away = away,
          .versus_middle = versus_middle,
          .toward_is_odd = toward_is_odd};
}

TEST(Cell, NearestLooksAtTheMiddleAndTiesGoToTheEvenCode) {
  for (const RoundingMode mode : {RoundingMode::nearest_even, RoundingMode::nearest_away}) {
    EXPECT_FALSE(moves(mode, cell_of(2, 3, -1, true), 2.4));
    EXPECT_TRUE(moves(mode, cell_of(2, 3, 1, false), 2.6));
  }
  EXPECT_TRUE(moves(RoundingMode::nearest_even, cell_of(3, 4, 0, true), 3.5));
  EXPECT_FALSE(moves(RoundingMode::nearest_even, cell_of(2, 3, 0, false), 2.5));
  EXPECT_TRUE(moves(RoundingMode::nearest_away, cell_of(2, 3, 0, false), 2.5));
}

TEST(Cell, DirectedRoundingsLookAtTheSide) {
  for (const int versus_middle : {-1, 0, 1}) {
    const Cell positive = cell_of(2, 3, versus_middle, false);
    const Cell negative = cell_of(-2, -3, versus_middle, false);
    EXPECT_FALSE(moves(RoundingMode::toward_zero, positive, 2.5));
    EXPECT_FALSE(moves(RoundingMode::toward_zero, negative, -2.5));
    EXPECT_TRUE(moves(RoundingMode::up, positive, 2.5));
    EXPECT_FALSE(moves(RoundingMode::up, negative, -2.5));
    EXPECT_FALSE(moves(RoundingMode::down, positive, 2.5));
    EXPECT_TRUE(moves(RoundingMode::down, negative, -2.5));
  }
}

TEST(Cell, ToOddTakesTheOddCode) {
  EXPECT_TRUE(moves(RoundingMode::to_odd, cell_of(2, 3, -1, false), 2.1));
  EXPECT_FALSE(moves(RoundingMode::to_odd, cell_of(3, 4, 1, true), 3.9));
}

TEST(Cell, AUniformCellHoldsItsMagnitude) {
  const Cell cell = uniform_cell(2.75, 0.5);
  EXPECT_EQ(cell.toward, 2.5);
  EXPECT_EQ(cell.away, 3.0);
  EXPECT_EQ(cell.versus_middle, 0);
  EXPECT_TRUE(cell.toward_is_odd);
  EXPECT_EQ(uniform_cell(std::nextafter(2.75, 3), 0.5).versus_middle, 1);
  EXPECT_EQ(uniform_cell(std::nextafter(2.75, 2), 0.5).versus_middle, -1);
  EXPECT_EQ(uniform_cell(0x1p-1074, 0x1p100).toward, 0);
  EXPECT_EQ(uniform_cell(0x1p-1074, 0x1p100).versus_middle, -1);
}

// The number of draws that move, by the definition with integers: away where draw < floor(f·2^r).
RC_GTEST_PROP(Cell, ADrawMovesWhereItIsBelowTheScaledFraction, ()) {
  const auto width = *rc::gen::inRange<std::int64_t>(1, 1 << 20);
  const auto offset = *rc::gen::inRange<std::int64_t>(0, width);
  const auto base = *rc::gen::inRange<std::int64_t>(0, 1 << 20);
  const auto r = *rc::gen::inRange(1, 33);
  const auto draw = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << r);
  const int exponent = *rc::gen::inRange(-100, 100);
  const double sign = *rc::gen::element(-1.0, 1.0);
  const auto at = [&](std::int64_t n) {
    return sign * std::ldexp(static_cast<double>(n), exponent);
  };
  const Cell cell = cell_of(at(base), at(base + width), 0, false);
  const Rounding rounding{RoundingMode::stochastic, r};
  const bool expected = draw < (offset << r) / width;
  RC_ASSERT(goes_away(cell, at(base + offset), rounding, static_cast<std::uint32_t>(draw)) ==
            expected);
}

TEST(Cell, FractionsBelowOneDrawNeverMove) {
  const Rounding rounding{RoundingMode::stochastic, 4};
  for (std::uint32_t draw = 0; draw < 16; ++draw) {
    EXPECT_FALSE(goes_away(cell_of(0, 1, -1, false), std::nextafter(1.0 / 16, 0), rounding, draw));
    EXPECT_EQ(goes_away(cell_of(0, 1, -1, false), 1.0 / 16, rounding, draw), draw == 0);
    EXPECT_EQ(goes_away(cell_of(0, 1, 1, false), std::nextafter(1.0, 0), rounding, draw),
              draw < 15);
  }
}

}  // namespace
}  // namespace nibble::inline numerics
