// SPDX-License-Identifier: Apache-2.0
// Tests of one number under one scale: values, codes, zero points, and that held values stay.
#include "numerics/scaled.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "numerics/test_format_generator.h"
#include "numerics/test_number_line.h"

namespace nibble::inline numerics {
namespace {

const double kNoNumber = std::nan("");

ScaledValue rounded(std::string_view format, const GroupScale& group, double x,
                    const Rounding& rounding = {}, Overflow overflow = Overflow::native) {
  return round_scaled(parse_format(format), group, x, rounding, overflow, 0);
}

TEST(Scaled, WithoutScalingTheElementIsTheValue) {
  EXPECT_EQ(rounded("e4m3", {}, 17.0).value, 16);
  EXPECT_EQ(rounded("e4m3", {}, 17.0).element, 16);
}

TEST(Scaled, APowerOfTwoIsExact) {
  EXPECT_EQ(rounded("mxfp4", {0.25F}, 0.8).value, 0.75);
  EXPECT_EQ(rounded("mxfp4", {0.25F}, 0.8).element, 3);
  EXPECT_EQ(rounded("mxfp4", {0x1p-127F}, 0x1.4p-127).value, 0x1p-127);
  EXPECT_EQ(rounded("mxfp4", {0x1p-127F}, 0x1p-149).value, 0);
  EXPECT_EQ(rounded("mxfp4", {0x1p125F}, 3e38).value, 6 * 0x1p125);
}

TEST(Scaled, OtherScalesDivideAndMultiplyInFp32) {
  const ScaledValue v = rounded("int8(scale=0.1)", {0.1F}, static_cast<double>(0.34F));
  EXPECT_EQ(v.element, 3);
  EXPECT_EQ(v.value, static_cast<double>(3 * 0.1F));
  // 0.25 / 0.1F lies below 2.5 but rounds to it in fp32, and the tie goes to even.
  EXPECT_EQ(rounded("int8(scale=0.1)", {0.1F}, 0.25).element, 2);
  EXPECT_EQ(rounded("int8(scale=0.1)", {0.1F}, 0.25, {RoundingMode::nearest_away}).element, 3);
}

TEST(Scaled, AZeroPointMovesTheBoundsAndTheCodes) {
  const Format format = parse_format("uint4(scale=0.5,zero=8)");
  const GroupScale group{0.5F, 8};
  struct Row {
    double x, value;
    std::uint32_t code;
  };
  for (const Row& row : {Row{0, 0, 8},
                         {-0.1, 0, 8},
                         {-4, -4, 0},
                         {-100, -4, 0},
                         {3.5, 3.5, 15},
                         {kInfinity, 3.5, 15},
                         {-kInfinity, -4, 0},
                         {1.25, 1, 10},
                         {1.3, 1.5, 11}}) {
    const ScaledValue v = round_scaled(format, group, row.x, {}, Overflow::native, 0);
    EXPECT_TRUE(is_same(v.value, row.value)) << row.x;
    EXPECT_EQ(encode_scaled(format, group, v.element), row.code) << row.x;
    EXPECT_TRUE(is_same(decode_scaled(format, group, row.code), row.value)) << row.x;
  }
}

TEST(Scaled, NanStaysNan) {
  for (const char* format : {"e4m3", "mxfp4", "int8(scale=0.1)", "nf4", "nvfp4"}) {
    EXPECT_TRUE(std::isnan(rounded(format, {0.5F}, kNoNumber).value)) << format;
    EXPECT_TRUE(std::isnan(rounded(format, {0.5F}, kNoNumber).element)) << format;
  }
}

TEST(Scaled, InfinityFollowsTheOverflowRule) {
  EXPECT_EQ(rounded("fp16(scale=3)", {3}, kInfinity).value, kInfinity);
  EXPECT_EQ(rounded("fp16(scale=3)", {3}, -kInfinity, {}, Overflow::saturate).value, -3 * 65504.0);
  EXPECT_TRUE(std::isnan(rounded("fp16(scale=3)", {3}, kInfinity, {}, Overflow::nan).value));
  EXPECT_EQ(rounded("nvfp4", {0.5F}, kInfinity).value, 3);
  EXPECT_EQ(rounded("mxfp8-e5m2", {2}, -kInfinity).value, -2 * 57344.0);
  EXPECT_EQ(rounded("mxfp8-e5m2", {2}, -kInfinity, {}, Overflow::infinity).value, -kInfinity);
  EXPECT_EQ(rounded("nf4", {0.3F}, -kInfinity).value, -static_cast<double>(0.3F));
}

TEST(Scaled, TheSignOfZeroIsTheElements) {
  EXPECT_TRUE(is_same(rounded("e4m3(scale=3)", {3}, -0.0).value, -0.0));
  EXPECT_TRUE(is_same(rounded("e4m3(scale=3)", {3}, -1e-30).value, -0.0));
  EXPECT_TRUE(is_same(rounded("int8(scale=3)", {3}, -0.0).value, 0.0));
  EXPECT_TRUE(is_same(rounded("int8(scale=3,zero=5)", {3, 5}, -0.0).value, 0.0));
  EXPECT_TRUE(is_same(rounded("mxfp4", {0.5F}, -0.01).value, -0.0));
  EXPECT_TRUE(is_same(rounded("mxint8", {0.5F}, -0.0).value, 0.0));
  EXPECT_TRUE(is_same(rounded("nf4", {0.5F}, -0.0).value, 0.0));
}

TEST(Scaled, ABlockWhoseScaleIsZeroIsZero) {
  EXPECT_TRUE(is_same(rounded("nvfp4", {0}, -1e-9).value, 0.0));
  EXPECT_EQ(encode_scaled(parse_format("nvfp4"), {0}, rounded("nvfp4", {0}, 1e-9).element), 0U);
}

struct Case {
  Format format;
  GroupScale group;
};

Case any_case() {
  Case c;
  c.format = parse_format(*rc::gen::elementOf(std::vector<std::string>{
      "e4m3(scale=1)", "e5m2(scale=absmax)", "fp16(scale=1)", "e2m1(scale=absmax)", "int8(scale=1)",
      "int16(scale=1)", "uint8(zero=100)", "int4(zero=-3)", "posit(16,1,scale=1)", "nf4", "nvfp4",
      "mxfp8-e4m3", "bfp(8)", "fixed(12,5,scale=1)"}));
  c.group.zero = c.format.scaling.zero;
  if (c.format.scaling.kind == ScaleKind::power_of_two) {
    c.group.scale = std::ldexp(1.0F, *rc::gen::inRange(-60, 60));
  } else {
    c.group.scale = std::ldexp(static_cast<float>(*rc::gen::inRange(1 << 23, 1 << 24)),
                               *rc::gen::inRange(-90, 50));
  }
  return c;
}

Rounding any_mode() {
  return {static_cast<RoundingMode>(*rc::gen::inRange(0, 7)), 16};
}

RC_GTEST_PROP(Scaled, AValueThatTheFormatHoldsStays, ()) {
  const Case c = any_case();
  const int bits = describe(c.format.element).code_bits;
  const auto code = static_cast<std::uint32_t>(*rc::gen::inRange(0, 1 << bits));
  const double element = decode_code(c.format.element, code);
  const bool is_held = std::isfinite(element) && element >= describe(c.format.element).lowest;
  RC_PRE(is_held);  // the lowest code of a symmetric grid is not used
  const double value = decode_scaled(c.format, c.group, code);
  const auto draw = static_cast<std::uint32_t>(*rc::gen::inRange(0, 1 << 16));
  const ScaledValue again =
      round_scaled(c.format, c.group, value, any_mode(), Overflow::native, draw);
  RC_ASSERT(is_same(again.value, value));
  RC_ASSERT(encode_scaled(c.format, c.group, again.element) == code);
}

RC_GTEST_PROP(Scaled, TheCodeOfWhatRoundingGivesDecodesToIt, ()) {
  const Case c = any_case();
  const double y = *number_near(c.format.element);
  const auto x = static_cast<double>(static_cast<float>(y * static_cast<double>(c.group.scale)));
  const auto draw = static_cast<std::uint32_t>(*rc::gen::inRange(0, 1 << 16));
  const ScaledValue v = round_scaled(c.format, c.group, x, any_mode(), Overflow::native, draw);
  RC_ASSERT(is_same(decode_scaled(c.format, c.group, encode_scaled(c.format, c.group, v.element)),
                    v.value));
}

Format with_rule(std::string name, const std::string& rule) {
  if (name.back() == ')') name.pop_back();
  return parse_format(name + (name.find('(') == std::string::npos ? "(" : ",") + "rule=" + rule +
                      ")");
}

// A block of values under the exponent that its own largest magnitude gives.
std::vector<double> rounded_block(const Format& format, const std::vector<double>& block,
                                  const Rounding& rounding, std::uint32_t draw) {
  float amax = 0;
  for (const double x : block) amax = std::max(amax, scaling_magnitude(static_cast<float>(x)));
  const int exponent = shared_exponent(format.element, format.scaling.rule, amax);
  std::vector<double> result;
  for (const double x : block) {
    const GroupScale group{std::ldexp(1.0F, exponent)};
    result.push_back(round_scaled(format, group, x, rounding, Overflow::saturate, draw).value);
  }
  return result;
}

RC_GTEST_PROP(Scaled, ABlockUnderASharedExponentStaysWhenItsExponentIsFoundAgain, ()) {
  const auto rule = *rc::gen::elementOf(std::vector<std::string>{"floor", "ceil", "even", "rceil"});
  const Format format =
      with_rule(*rc::gen::elementOf(std::vector<std::string>{"mxfp4", "mxfp6-e3m2", "mxfp8-e4m3",
                                                             "mxfp8-e5m2", "mxint8", "bfp(4)"}),
                rule);
  std::vector<double> block;
  for (int i = 0; i < 4; ++i) {
    const auto mantissa = static_cast<float>(*rc::gen::inRange(-(1 << 24) + 1, 1 << 24));
    block.push_back(std::ldexp(static_cast<double>(mantissa), *rc::gen::inRange(-40, -20)));
  }
  const Rounding first =
      rule == "even"
          ? Rounding{*rc::gen::element(RoundingMode::nearest_even, RoundingMode::nearest_away)}
          : any_mode();
  const std::vector<double> once = rounded_block(format, block, first, 12345);
  RC_ASSERT(rounded_block(format, once, any_mode(), 54321) == once);
}

}  // namespace
}  // namespace nibble::inline numerics
