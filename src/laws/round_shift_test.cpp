// SPDX-License-Identifier: Apache-2.0
// Tests of the three roundings of a shift.
#include "laws/round_shift.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "nibble/core/error.h"

namespace nibble::inline laws {
namespace {

constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();

struct Golden {
  std::int64_t x;
  int s;
  int y;
};

TEST(RoundShift, NearestFollowsTheGoldenVectors) {
  const std::vector<Golden> golden = {
      {7, 2, 2},   {6, 2, 2},     {5, 2, 1},     {-5, 2, -1},    {-6, 2, -2},
      {-7, 2, -2}, {255, 1, 127}, {256, 1, 127}, {1000, 3, 125}, {-1004, 3, -126},
      {12, 3, 2},  {-12, 3, -2},  {11, 3, 1},    {-255, 1, -127}};
  for (const Golden& g : golden) {
    EXPECT_EQ(clamp127(shift_nearest(g.x, g.s)), g.y) << g.x << " >> " << g.s;
  }
}

TEST(RoundShift, PseudoStochasticFollowsTheGoldenVectors) {
  const std::vector<Golden> golden = {
      {1, 1, 1},   {3, 1, 2},   {-3, 1, -2},   {1, 2, 0},    {2, 2, 1},    {3, 2, 0},
      {-2, 2, -1}, {5, 4, 0},   {11, 4, 0},    {12, 4, 1},   {-11, 4, 0},  {-12, 4, -1},
      {100, 5, 4}, {107, 5, 3}, {-100, 5, -4}, {1000, 7, 8}, {1001, 7, 8}, {1023, 7, 8}};
  for (const Golden& g : golden) {
    EXPECT_EQ(clamp127(shift_pseudo(g.x, g.s)), g.y) << g.x << " >> " << g.s;
  }
}

TEST(RoundShift, NoShiftIsTheIdentity) {
  for (const std::int64_t x : {std::int64_t{0}, std::int64_t{-7}, std::int64_t{1} << 62, kLow}) {
    EXPECT_EQ(shift_nearest(x, 0), x);
    EXPECT_EQ(shift_stochastic(x, 0, 0xFFFFFFFF), x);
    EXPECT_EQ(shift_pseudo(x, 0), x);
  }
}

TEST(RoundShift, ExactQuotientsStay) {
  for (int s = 0; s <= 62; ++s) {
    const std::int64_t unit = std::int64_t{1} << s;
    for (const std::int64_t x : {unit, -unit, std::int64_t{0}, std::int64_t{1} << 62, kLow}) {
      EXPECT_EQ(shift_nearest(x, s), x / unit);
      EXPECT_EQ(shift_stochastic(x, s, 0), x / unit);
      EXPECT_EQ(shift_pseudo(x, s), x / unit);
    }
  }
}

TEST(RoundShift, SignsAreTreatedAlike) {
  for (int s = 1; s <= 62; ++s) {
    for (std::int64_t x = 1; x > 0 && x < (std::int64_t{1} << 61); x = 3 * x + 1) {
      EXPECT_EQ(shift_nearest(-x, s), -shift_nearest(x, s));
      EXPECT_EQ(shift_stochastic(-x, s, 0x40000000), -shift_stochastic(x, s, 0x40000000));
      EXPECT_EQ(shift_pseudo(-x, s), -shift_pseudo(x, s));
    }
  }
}

// Sum over all remainders of (rounded·2^s - r), which is the mean error times 2^(2s).
std::int64_t pseudo_error_sum(int s) {
  const std::int64_t unit = std::int64_t{1} << s;
  std::int64_t sum = 0;
  for (std::int64_t r = 0; r < unit; ++r) sum += shift_pseudo(r, s) * unit - r;
  return sum;
}

TEST(RoundShift, TheMeanErrorOfPseudoStochasticIsKnown) {
  EXPECT_EQ(pseudo_error_sum(1), 1);    // +0.25 of 4
  EXPECT_EQ(pseudo_error_sum(2), -2);   // -0.125 of 16
  EXPECT_EQ(pseudo_error_sum(3), 4);    // +0.0625 of 64
  EXPECT_EQ(pseudo_error_sum(4), -24);  // -0.09375 of 256
  for (int s = 1; s <= 18; ++s) {
    const std::int64_t half_unit = std::int64_t{1} << (s - 1);
    const std::int64_t even_part = s % 2 == 1 ? 0 : half_unit << (s / 2);
    EXPECT_EQ(pseudo_error_sum(s), half_unit - even_part) << s;
  }
}

TEST(RoundShift, StochasticGoesUpForRemainderManyOfTheDraws) {
  for (int s = 1; s <= 10; ++s) {
    const std::int64_t unit = std::int64_t{1} << s;
    for (std::int64_t r = 0; r < unit; ++r) {
      std::int64_t ups = 0;
      for (std::int64_t u = 0; u < unit; ++u) {
        // The bits of the draw behind the first s have no effect.
        const auto draw = static_cast<std::uint32_t>(u << (32 - s)) | (u % 3 == 0 ? 1u : 0u);
        ups += shift_stochastic(3 * unit + r, s, draw) - 3;
      }
      ASSERT_EQ(ups, r) << s;
    }
  }
}

TEST(RoundShift, ALongShiftPutsTheDrawOnTop) {
  const std::int64_t x = std::int64_t{3} << 38;  // r of s = 40 is 0.75 of the unit
  EXPECT_EQ(shift_stochastic(x, 40, 0xBFFFFFFF), 1);
  EXPECT_EQ(shift_stochastic(x, 40, 0xC0000000), 0);
  EXPECT_EQ(shift_stochastic(x + 1, 40, 0xC0000000), 1);
  EXPECT_EQ(shift_stochastic(std::int64_t{1} << 31, 32, 0x7FFFFFFF), 1);
  EXPECT_EQ(shift_stochastic(std::int64_t{1} << 31, 32, 0x80000000), 0);
}

TEST(RoundShift, TheClampIsSymmetric) {
  EXPECT_EQ(clamp127(-128), -127);
  EXPECT_EQ(clamp127(128), 127);
  EXPECT_EQ(clamp127(-5), -5);
  EXPECT_EQ(clamp127(kLow), -127);
}

TEST(RoundShift, NamesLeadBackToTheRounding) {
  for (const auto rounding :
       {ShiftRounding::nearest, ShiftRounding::stochastic, ShiftRounding::pseudo_stochastic}) {
    EXPECT_EQ(shift_rounding_by_name(name_of(rounding)), rounding);
  }
  try {
    shift_rounding_by_name("up");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "[shift_rounding] name: got up, expected one of nearest stochastic pseudo-stochastic");
  }
}

}  // namespace
}  // namespace nibble::inline laws
