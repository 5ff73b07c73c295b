// SPDX-License-Identifier: Apache-2.0
// Tests of the text form: what it means, its one canonical writing, and that it survives a round
// trip.
#include "nibble/numerics/format.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "numerics/test_format_generator.h"

namespace nibble::inline numerics {
namespace {

std::string canonical(std::string_view text) {
  return to_string(parse_format(text));
}

TEST(Format, EveryNameIsItsOwnCanonicalText) {
  std::set<std::string_view> seen;
  for (const NamedFormat& entry : named_formats()) {
    EXPECT_EQ(canonical(entry.name), entry.name);
    EXPECT_TRUE(seen.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.summary.empty()) << entry.name;
  }
  EXPECT_EQ(seen.size(), 26U);
}

TEST(Format, ParametersGiveTheFormatTheySay) {
  const Format f = parse_format(" float( 5 ,2, bias=16,specials = fnuz, subnormals=off ) ");
  EXPECT_EQ(std::get<FloatElement>(f.element),
            (FloatElement{5, 2, 16, Specials::fnuz, false, true, true}));
  EXPECT_EQ(f.scaling, Scaling{});
  EXPECT_EQ(std::get<FloatElement>(parse_format("p3109(8,3,unsigned)").element),
            (FloatElement{6, 2, 32, Specials::p3109, true, false, true}));
  EXPECT_EQ(std::get<GridElement>(parse_format("fixed(8,-2,symmetric,clamp=off)").element),
            (GridElement{8, -2, true, true, false, false}));
  EXPECT_EQ(std::get<GridElement>(parse_format("uint4").element),
            (GridElement{4, 0, false, false, true, true}));
  EXPECT_EQ(std::get<PositElement>(parse_format("posit(16,1)").element), (PositElement{16, 1}));
  EXPECT_EQ(std::get<CodebookElement>(parse_format("codebook([3, -1, 0.5, 3])").element),
            (CodebookElement{"", {-1, 0.5F, 3}}));
  EXPECT_EQ(std::get<CodebookElement>(parse_format("codebook([1,2],signed)").element),
            (CodebookElement{"", {-2, -1, 0, 1, 2}}));
}

TEST(Format, ScalingOptionsGiveTheScalingTheySay) {
  EXPECT_EQ(parse_format("int8(scale=0.5,zero=-3)").scaling,
            (Scaling{.kind = ScaleKind::given, .scale = 0.5F, .zero = -3}));
  EXPECT_EQ(parse_format("int8(axis=0)").scaling,
            (Scaling{.kind = ScaleKind::given, .granularity = Granularity::axis, .axis = 0}));
  EXPECT_EQ(parse_format("bfp(8)").scaling, (Scaling{.kind = ScaleKind::power_of_two}));
  EXPECT_EQ(parse_format("bfp(8,axis=1,rule=rceil)").scaling,
            (Scaling{.kind = ScaleKind::power_of_two,
                     .granularity = Granularity::axis,
                     .axis = 1,
                     .rule = ScaleRule::rceil}));
  EXPECT_EQ(parse_format("mxfp4(block=16,axis=0)").scaling,
            (Scaling{.kind = ScaleKind::power_of_two,
                     .granularity = Granularity::block,
                     .axis = 0,
                     .block = 16}));
  EXPECT_EQ(parse_format("e4m3(scale=absmax)").scaling, (Scaling{.kind = ScaleKind::absmax}));
  EXPECT_EQ(parse_format("uint8(scale=minmax,axis=-1)").scaling,
            (Scaling{.kind = ScaleKind::minmax, .granularity = Granularity::axis}));
  EXPECT_EQ(
      parse_format("nvfp4").scaling,
      (Scaling{.kind = ScaleKind::two_level, .granularity = Granularity::block, .block = 16}));
}

TEST(Format, EqualFormatsPrintAlike) {
  const std::vector<std::pair<const char*, const char*>> table = {
      {"e5m10", "fp16"},
      {"float(5,10)", "fp16"},
      {"float(5,10,bias=15,specials=ieee)", "fp16"},
      {"e8m7", "bf16"},
      {"e4m3fn", "e4m3"},
      {"e4m3b7", "e4m3b7"},
      {"float(4,3)", "e4m3b7"},
      {"float(4,3,bias=11,specials=fnuz)", "e4m3b11fnuz"},
      {"float(2,1,specials=finite)", "e2m1"},
      {"float(3,3,specials=finite)", "float(3,3,specials=finite)"},
      {"float(8,0,specials=fn,unsigned,nozero)", "e8m0"},
      {"float(8,0)", "e8m0b127"},
      {"e5m2(subnormals=off)", "e5m2(subnormals=off)"},
      {"e5m2(subnormals=on)", "e5m2"},
      {"p3109(8,4)", "p3109(8,4)"},
      {"float(4,3,bias=8,specials=p3109)", "p3109(8,4)"},
      {"p3109(8,4,finite)", "e4m3fnuz"},
      {"p3109(8,4,finite,unsigned)", "float(5,3,bias=16,specials=fn,unsigned)"},
      {"p3109( 6 , 3 , unsigned )", "p3109(6,3,unsigned)"},
      {"fixed(8,4,clamp=on)", "fixed(8,4)"},
      {"fixed(8,4,clamp=off,symmetric)", "fixed(8,4,symmetric,clamp=off)"},
      {"int08", "int8"},
      {"int8(scale=1)", "int8(scale=1)"},
      {"int8(zero=0)", "int8(scale=1)"},
      {"int8(zero=5)", "int8(zero=5)"},
      {"int8(zero=-3,scale=0.5)", "int8(scale=0.5,zero=-3)"},
      {"int8(scale=0.1,axis=-1)", "int8(scale=0.1,axis=-1)"},
      {"int4(block=32,scale=absmax)", "int4(scale=absmax,block=32)"},
      {"fixed(8,6,symmetric,scale=pow2)", "bfp(8)"},
      {"bfp(6,block=16,axis=0)", "bfp(6,block=16,axis=0)"},
      {"bfp(8,block=32)", "mxint8"},
      {"mxfp8", "mxfp8-e4m3"},
      {"mxfp6", "mxfp6-e2m3"},
      {"e2m1(scale=pow2,block=32)", "mxfp4"},
      {"e2m1(scale=pow2,block=16,rule=even)", "mxfp4(block=16,rule=even)"},
      {"e2m1(scale=two-level,block=16)", "nvfp4"},
      {"e2m1(block=16,tensor_scale=0.25,scale=two-level)", "nvfp4(tensor_scale=0.25)"},
      {"nvfp4(block=32,tensor_scale=1e-3)", "nvfp4(tensor_scale=0.001,block=32)"},
      {"codebook(nf4,scale=absmax,block=64)", "nf4"},
      {"codebook(nf4)", "codebook(nf4)"},
      {"nf4(block=32)", "nf4(block=32)"},
      {"codebook([1e30,0,-1e-30])", "codebook([-1e-30,0,1e+30])"},
      {"codebook([0.1,-0,0])", "codebook([0,0.1])"},
      {"posit( 8, 2 )", "posit(8,2)"},
      {"posit(8,2,scale=1e-45)", "posit(8,2,scale=1e-45)"},
  };
  for (const auto& [text, expected] : table) {
    EXPECT_EQ(canonical(text), expected) << text;
    EXPECT_EQ(canonical(expected), expected) << text;
  }
}

TEST(Format, Nvfp4AndNf4AreCompositions) {
  const Format nvfp4 = parse_format("nvfp4");
  EXPECT_EQ(describe(nvfp4.element).max, 6);
  EXPECT_EQ(nvfp4.element, parse_format("e2m1").element);
  EXPECT_EQ(parse_format("nf4").scaling.block, 64);
  EXPECT_EQ(parse_format("mxint8").element, parse_format("fixed(8,6,symmetric)").element);
}

RC_GTEST_PROP(Format, ARandomElementSurvivesItsText, ()) {
  const Format format{*any_element(), {}};
  const std::string text = to_string(format);
  RC_LOG() << text;
  const bool is_equal = parse_format(text) == format;
  RC_ASSERT(is_equal);
}

RC_GTEST_PROP(Format, ARandomFormatSurvivesItsText, ()) {
  const std::string bare = to_string(Format{*any_element(), {}});
  const std::string options = *any_options();
  std::string text = bare;
  if (!options.empty() && options.front() != ',') {
    text = bare.back() == ')' ? bare.substr(0, bare.size() - 1) + "," + options + ")"
                              : bare + "(" + options + ")";
  }
  RC_LOG() << text;
  Format format;
  try {
    format = parse_format(text);
  } catch (const Error&) {
    RC_DISCARD("options that do not fit the element");
  }
  const bool is_equal = parse_format(to_string(format)) == format;
  RC_ASSERT(is_equal);
}

}  // namespace
}  // namespace nibble::inline numerics
