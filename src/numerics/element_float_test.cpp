// SPDX-License-Identifier: Apache-2.0
// Tests of float elements: every code of every small split, and the constants of the known formats.
#include "numerics/element_families.h"

#include <gtest/gtest.h>

#include <vector>

#include "nibble/core/error.h"
#include "nibble/numerics/format.h"
#include "numerics/test_float_line.h"
#include "numerics/test_number_line.h"

namespace nibble::inline numerics {
namespace {

FloatElement float_named(std::string_view name) {
  return std::get<FloatElement>(parse_format(name).element);
}

// Every code: finite ones keep their value, those of one value share a canonical code.
testing::AssertionResult every_code_stays(const FloatElement& f) {
  const FloatLine line(f);
  const std::uint32_t codes = std::uint32_t{1} << line.code_bits;
  for (std::uint32_t code = 0; code < codes; ++code) {
    const double value = line.value_of(code);
    const double decoded = decode_code(f, code);
    if (!is_same(decoded, value)) {
      return testing::AssertionFailure()
             << "code " << code << ": got " << decoded << ", expected " << value;
    }
    if (std::isinf(value)) {
      if (encode_value(f, value) != code) return testing::AssertionFailure() << "infinity " << code;
      continue;
    }
    if (std::isnan(value)) {
      const std::uint32_t canonical = encode_value(f, value);
      if (!std::isnan(line.value_of(canonical)))
        return testing::AssertionFailure() << "NaN " << code;
      continue;
    }
    const std::uint32_t zero = std::signbit(value) ? 1U << line.magnitude_bits : 0;
    const auto result = stays(f, value, value == 0 ? zero : code);
    if (!result) return result;
  }
  return testing::AssertionSuccess();
}

TEST(FloatElement, EveryCodeOfEverySplitUpToNineBitsComesBack) {
  for (const FloatElement& f : floats_up_to(9)) {
    ASSERT_TRUE(every_code_stays(f)) << to_string(Format{f, {}});
  }
}

TEST(FloatElement, EveryCodeOfEveryNamedFormatComesBack) {
  for (const NamedFormat& entry : named_formats()) {
    const Format format = parse_format(entry.name);
    const auto* f = std::get_if<FloatElement>(&format.element);
    if (f == nullptr || describe(*f).code_bits > 16) continue;
    ASSERT_TRUE(every_code_stays(*f)) << entry.name;
  }
}

TEST(FloatElement, EveryCodeOfEveryP3109FormatComesBack) {
  for (int k = 3; k <= 16; ++k) {
    for (int p = 1; p <= k; ++p) {
      for (const char* options : {"", ",finite", ",unsigned", ",unsigned,finite"}) {
        const int exponent_bits = k - p + (std::string(options).find("unsigned") == 1 ? 1 : 0);
        if (exponent_bits < 1 || exponent_bits > 8) continue;
        const std::string text =
            "p3109(" + std::to_string(k) + "," + std::to_string(p) + options + ")";
        ASSERT_TRUE(every_code_stays(float_named(text))) << text;
      }
    }
  }
}

struct Constants {
  const char* name;
  double max;
  double min_normal;
  double min_positive;
  bool has_infinity;
  bool has_nan;
  bool has_negative_zero;
  int code_bits;
};

TEST(FloatElement, KnownFormatsHaveTheirConstants) {
  const std::vector<Constants> table = {
      {"fp32", 0x1.fffffep127, 0x1p-126, 0x1p-149, true, true, true, 32},
      {"fp16", 65504, 0x1p-14, 0x1p-24, true, true, true, 16},
      {"bf16", 0x1.fep127, 0x1p-126, 0x1p-133, true, true, true, 16},
      {"tf32", 0x1.ffcp127, 0x1p-126, 0x1p-136, true, true, true, 19},
      {"e5m2", 57344, 0x1p-14, 0x1p-16, true, true, true, 8},
      {"e4m3", 448, 0x1p-6, 0x1p-9, false, true, true, 8},
      {"e4m3b7", 240, 0x1p-6, 0x1p-9, true, true, true, 8},
      {"e3m4", 15.5, 0x1p-2, 0x1p-6, true, true, true, 8},
      {"e4m3fnuz", 240, 0x1p-7, 0x1p-10, false, true, false, 8},
      {"e5m2fnuz", 57344, 0x1p-15, 0x1p-17, false, true, false, 8},
      {"e4m3b11fnuz", 30, 0x1p-10, 0x1p-13, false, true, false, 8},
      {"e3m2", 28, 0.25, 0.0625, false, false, true, 6},
      {"e2m3", 7.5, 1, 0.125, false, false, true, 6},
      {"e2m1", 6, 1, 0.5, false, false, true, 4},
      {"e8m0", 0x1p127, 0x1p-127, 0x1p-127, false, true, false, 8},
      {"p3109(8,4)", 224, 0x1p-7, 0x1p-10, true, true, false, 8},
      {"p3109(8,4,finite)", 240, 0x1p-7, 0x1p-10, false, true, false, 8},
      {"p3109(8,3)", 49152, 0x1p-15, 0x1p-17, true, true, false, 8},
      {"p3109(8,3,finite)", 57344, 0x1p-15, 0x1p-17, false, true, false, 8},
      {"e4m3(subnormals=off)", 448, 0x1p-6, 0x1p-6, false, true, true, 8},
  };
  for (const Constants& c : table) {
    SCOPED_TRACE(c.name);
    const ElementInfo info = describe(float_named(c.name));
    EXPECT_EQ(info.max, c.max);
    EXPECT_EQ(info.min_normal, c.min_normal);
    EXPECT_EQ(info.min_positive, c.min_positive);
    EXPECT_EQ(info.has_infinity, c.has_infinity);
    EXPECT_EQ(info.has_nan, c.has_nan);
    EXPECT_EQ(info.has_negative_zero, c.has_negative_zero);
    EXPECT_EQ(info.code_bits, c.code_bits);
    EXPECT_TRUE(info.decodes_to_fp32);
  }
  EXPECT_EQ(describe(float_named("e4m3")).lowest, -448);
  EXPECT_EQ(describe(float_named("p3109(8,4,unsigned)")).lowest, 0);
  EXPECT_FALSE(describe(float_named("e8m0")).has_zero);
  EXPECT_FALSE(describe(float_named("float(8,10,specials=finite)")).decodes_to_fp32);
}

TEST(FloatElement, CodesAreSignThenExponentThenMantissa) {
  EXPECT_EQ(encode_value(float_named("fp16"), 1.0), 0x3C00U);
  EXPECT_EQ(encode_value(float_named("fp16"), -2.5), 0xC100U);
  EXPECT_EQ(encode_value(float_named("e4m3"), 448), 0x7EU);
  EXPECT_EQ(encode_value(float_named("e4m3"), -0x1p-9), 0x81U);
  EXPECT_EQ(encode_value(float_named("e2m1"), -6), 0xFU);
  EXPECT_EQ(encode_value(float_named("e8m0"), 1), 127U);
  EXPECT_EQ(decode_code(float_named("e5m2"), 0x3C), 1.0);
  EXPECT_EQ(encode_value(float_named("fp32"), -1.0), 0xBF800000U);
}

TEST(FloatElement, NanHasOneCanonicalCode) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(encode_value(float_named("fp16"), nan), 0x7E00U);
  EXPECT_EQ(encode_value(float_named("fp16"), -nan), 0x7E00U);
  EXPECT_EQ(encode_value(float_named("e5m2"), nan), 0x7EU);
  EXPECT_EQ(encode_value(float_named("e4m3"), nan), 0x7FU);
  EXPECT_EQ(encode_value(float_named("e4m3fnuz"), nan), 0x80U);
  EXPECT_EQ(encode_value(float_named("p3109(8,4)"), nan), 0x80U);
  EXPECT_EQ(encode_value(float_named("p3109(8,4,unsigned)"), nan), 0xFFU);
  EXPECT_EQ(encode_value(float_named("p3109(8,4,unsigned)"), kInfinity), 0xFEU);
  EXPECT_EQ(encode_value(float_named("e8m0"), nan), 0xFFU);
  EXPECT_TRUE(std::isnan(decode_code(float_named("e4m3"), 0xFF)));
  EXPECT_THROW(encode_value(float_named("e2m1"), nan), Error);
  EXPECT_THROW(encode_value(float_named("e8m0b127"), nan), Error);  // IEEE style without a mantissa
}

TEST(FloatElement, MinusZeroHasNoCodeWhereNanTakesIt) {
  EXPECT_EQ(encode_value(float_named("e4m3fnuz"), -0.0), 0U);
  EXPECT_EQ(encode_value(float_named("e4m3"), -0.0), 0x80U);
}

TEST(FloatElement, ACodeBeyondTheBitsIsRefused) {
  EXPECT_THROW(decode_code(float_named("e4m3"), 0x100), Error);
  EXPECT_THROW(decode_code(float_named("e2m1"), 16), Error);
}

TEST(FloatElement, ImpossibleSplitsAreRefused) {
  for (const char* text : {"float(0,3)", "float(9,3)", "float(4,24)", "float(4,3,bias=513)",
                           "float(1,0)", "float(1,0,specials=fn)", "float(1,2,subnormals=off)",
                           "float(4,3,unsigned)", "float(4,3,unsigned,specials=fnuz)",
                           "float(4,3,nozero)", "float(1,0,specials=p3109,unsigned)"}) {
    EXPECT_THROW(parse_format(text), Error) << text;
  }
}

}  // namespace
}  // namespace nibble::inline numerics
