// SPDX-License-Identifier: Apache-2.0
// Tests of scales: shared exponents by hand, fp32 scales, zero points, two levels.
#include "nibble/numerics/scaling.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "nibble/numerics/format.h"

namespace nibble::inline numerics {
namespace {

constexpr float kMaxFloat = std::numeric_limits<float>::max();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Element element(std::string_view name) {
  return parse_format(name).element;
}

struct Exponents {
  const char* element;
  float amax;
  int floor;
  int ceil;
  int even;
  int rceil;
};

TEST(SharedExponent, FollowsItsRule) {
  const std::vector<Exponents> table = {
      {"e2m1", 1.0F, -2, -2, -2, -2},
      {"e2m1", 4.0F, 0, 0, 0, 0},
      {"e2m1", std::nextafter(4.0F, 0.0F), -1, 0, 0, 0},
      {"e2m1", 3.0F, -1, 0, -1, -1},
      {"e2m1", 6.0F, 0, 1, 0, 0},
      {"e2m1", std::nextafter(6.0F, 9.0F), 0, 1, 0, 1},
      {"e2m1", 7.0F, 0, 1, 1, 1},  // 7 rounds to 8, the next binade
      {"e2m1", std::nextafter(7.0F, 0.0F), 0, 1, 0, 1},
      {"e4m3", 448.0F, 0, 1, 0, 0},
      {"e4m3", 480.0F, 0, 1, 0, 1},
      {"e4m3", 496.0F, 0, 1, 1, 1},
      {"e4m3", 1.0F, -8, -8, -8, -8},
      {"e5m2", 57344.0F, 0, 1, 0, 0},
      {"e5m2", 61440.0F, 0, 1, 1, 1},
      {"e3m2", 28.0F, 0, 1, 0, 0},
      {"e2m3", 7.75F, 0, 1, 1, 1},
      {"mxint8", 127.0F / 64, 0, 1, 0, 0},
      {"mxint8", 1.99F, 0, 1, 0, 1},
      {"mxint8", 127.5F / 64, 0, 1, 1, 1},
      {"mxint8", 1.0F, 0, 0, 0, 0},
      {"bfp(4)", 1.75F, 0, 1, 0, 0},
      {"bfp(4)", 1.9F, 0, 1, 1, 1},
      {"int8", 127.0F, 0, 1, 0, 0},
      {"int8", 128.0F, 1, 1, 1, 1},
      {"e8m0", 1.5F, -127, -126, -126, -126},
  };
  for (const Exponents& row : table) {
    SCOPED_TRACE(testing::Message() << row.element << " " << row.amax);
    EXPECT_EQ(shared_exponent(element(row.element), ScaleRule::floor, row.amax), row.floor);
    EXPECT_EQ(shared_exponent(element(row.element), ScaleRule::ceil, row.amax), row.ceil);
    EXPECT_EQ(shared_exponent(element(row.element), ScaleRule::even, row.amax), row.even);
    EXPECT_EQ(shared_exponent(element(row.element), ScaleRule::rceil, row.amax), row.rceil);
  }
}

TEST(SharedExponent, StaysWithinE8m0) {
  for (const ScaleRule rule :
       {ScaleRule::floor, ScaleRule::ceil, ScaleRule::even, ScaleRule::rceil}) {
    EXPECT_EQ(shared_exponent(element("e2m1"), rule, 0.0F), -127);
    EXPECT_EQ(shared_exponent(element("e2m1"), rule, 0x1p-149F), -127);
    EXPECT_EQ(shared_exponent(element("e2m1"), rule, 0x1p-125F), -127);
    EXPECT_EQ(shared_exponent(element("e2m1"), rule, 0x1p-124F), -126);
    EXPECT_EQ(shared_exponent(element("mxint8"), rule, kMaxFloat), 127);
  }
  EXPECT_EQ(shared_exponent(element("mxint8"), ScaleRule::floor, 0x1.8p-127F), -127);  // subnormal
  EXPECT_EQ(shared_exponent(element("e2m1"), ScaleRule::floor, kMaxFloat), 125);
  EXPECT_EQ(shared_exponent(element("e2m1"), ScaleRule::rceil, kMaxFloat), 126);
}

RC_GTEST_PROP(SharedExponent, RceilIsTheSmallestThatHoldsTheMaximum, ()) {
  const Element e = element(*rc::gen::elementOf(
      std::vector<std::string>{"e2m1", "e3m2", "e4m3", "e5m2", "mxint8", "bfp(6)", "e4m3fnuz"}));
  const float amax =
      std::ldexp(static_cast<float>(*rc::gen::inRange(1, 1 << 24)), *rc::gen::inRange(-90, 80));
  const int exponent = shared_exponent(e, ScaleRule::rceil, amax);
  const double max = describe(e).max;
  RC_ASSERT(static_cast<double>(amax) <= std::ldexp(max, exponent));
  RC_ASSERT(static_cast<double>(amax) > std::ldexp(max, exponent - 1));
  RC_ASSERT(shared_exponent(e, ScaleRule::floor, amax) <= exponent);
  RC_ASSERT(shared_exponent(e, ScaleRule::ceil, amax) >= exponent);
}

TEST(AbsmaxScale, MapsTheLargestMagnitudeToTheLargestValue) {
  EXPECT_EQ(absmax_scale(element("e4m3"), 448.0F), 1.0F);
  EXPECT_EQ(absmax_scale(element("int8"), 254.0F), 2.0F);
  EXPECT_EQ(absmax_scale(element("nf4"), 0.3F), 0.3F);
  EXPECT_EQ(absmax_scale(element("e2m1"), 1.0F), 1.0F / 6.0F);
  EXPECT_EQ(absmax_scale(element("e4m3"), 0.0F), 1.0F);
  EXPECT_EQ(absmax_scale(element("e4m3"), 0x1p-149F), 1.0F);  // the quotient underflows
}

GroupScale minmax(std::string_view name, float low, float high) {
  return minmax_scale(std::get<GridElement>(element(name)), low, high);
}

TEST(MinmaxScale, CoversTheRangeAndZero) {
  struct Row {
    const char* element;
    float low, high, scale;
    int zero;
  };
  const std::vector<Row> table = {
      {"uint8", 0, 255, 1, 0},
      {"uint8", 51, 255, 1, 0},  // zero is always within
      {"uint8", -127.5F, 0, 0.5F, 255},
      {"uint8", -1, 1, 2.0F / 255, 127},
      {"int8", -128, 127, 1, 0},
      {"int8", 0, 255, 1, -128},
      {"int8", -510, -510, 2, 127},
      {"uint4", -4, 3.5F, 0.5F, 8},
      {"int8", 0, 0, 1, 0},
      {"uint8", 0, 0, 1, 0},
      {"int8(symmetric)", -254, 254, 2, 0},
  };
  for (const Row& row : table) {
    SCOPED_TRACE(testing::Message() << row.element << " " << row.low << " " << row.high);
    const GroupScale got = minmax(row.element, row.low, row.high);
    EXPECT_EQ(got.scale, row.scale);
    EXPECT_EQ(got.zero, row.zero);
  }
}

TEST(MinmaxScale, HoldsAtTheEndsOfFp32) {
  EXPECT_TRUE(std::isfinite(minmax("int2(symmetric)", -kMaxFloat, kMaxFloat).scale));
  EXPECT_EQ(minmax("uint8", -kMaxFloat, kMaxFloat).zero, 128);  // 127.5 to even
  const GroupScale tiny = minmax("uint8", 0.0F, 0x1p-149F);
  EXPECT_EQ(tiny.scale, 1.0F);  // the quotient underflows
  EXPECT_EQ(tiny.zero, 0);
}

TEST(TwoLevelScale, TheTensorScaleLetsTheLargestBlockUse448) {
  const Element e = element("nvfp4");
  EXPECT_EQ(two_level_tensor_scale(e, 2688.0F), 1.0F);
  EXPECT_EQ(two_level_tensor_scale(e, 1.0F), 1.0F / 2688.0F);
  EXPECT_EQ(two_level_tensor_scale(e, 0.0F), 1.0F);
  EXPECT_EQ(two_level_block_scale(e, 2688.0F, 1.0F), 448.0F);
  EXPECT_EQ(two_level_block_scale(e, 6.0F, 1.0F), 1.0F);
  EXPECT_EQ(two_level_block_scale(e, 6.375F, 1.0F), 1.0F);  // 1.0625: a tie, to even
  EXPECT_EQ(two_level_block_scale(e, 6.5F, 1.0F), 1.125F);
  EXPECT_EQ(two_level_block_scale(e, 0x1.8p-7F, 1.0F), 0x1p-9F);
  EXPECT_EQ(two_level_block_scale(e, 0x1.8p-8F, 1.0F), 0.0F);  // 2^-10 is a tie, to zero
  EXPECT_EQ(two_level_block_scale(e, 0.0F, 1.0F), 0.0F);
}

TEST(ScalingMagnitude, InfinityCountsAsTheLargestValueAndNanAsNothing) {
  EXPECT_EQ(scaling_magnitude(-2.5F), 2.5F);
  EXPECT_EQ(scaling_magnitude(-kInfinity), kMaxFloat);
  EXPECT_EQ(scaling_magnitude(std::nanf("")), 0.0F);
  EXPECT_EQ(scaling_magnitude(-0.0F), 0.0F);
}

}  // namespace
}  // namespace nibble::inline numerics
