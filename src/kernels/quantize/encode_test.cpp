// SPDX-License-Identifier: Apache-2.0
// Codes: every one decodes and encodes back, and codes with their scales say what quantize says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/isa.h"
#include "kernels/quantize/code_map.h"
#include "kernels/quantize/test_compare.h"
#include "kernels/quantize/test_formats.h"
#include "kernels/quantize/test_inputs.h"
#include "nibble/core/error.h"
#include "nibble/kernels/quantize.h"
#include "numerics/scaled.h"

namespace nibble::inline kernels {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::uint32_t code_at(const Tensor& codes, std::size_t i) {
  if (codes.dtype() == DType::u8) return codes.as<std::uint8_t>()[i];
  if (codes.dtype() == DType::u16) return codes.as<std::uint16_t>()[i];
  return codes.as<std::uint32_t>()[i];
}

Tensor codes_below(std::uint32_t count, int bits) {
  Tensor codes(bits <= 8 ? DType::u8 : DType::u16, {static_cast<std::int64_t>(count)});
  for (std::uint32_t code = 0; code < count; ++code) {
    if (bits <= 8) {
      codes.as<std::uint8_t>()[code] = static_cast<std::uint8_t>(code);
    } else {
      codes.as<std::uint16_t>()[code] = static_cast<std::uint16_t>(code);
    }
  }
  return codes;
}

// The element alone: scales found anew from decoded data may differ.
void expect_codes_come_back(const Format& format) {
  const ElementInfo info = describe(format.element);
  const auto* table = std::get_if<CodebookElement>(&format.element);
  const auto* grid = std::get_if<GridElement>(&format.element);
  const std::uint32_t count =
      table != nullptr ? static_cast<std::uint32_t>(table->values.size()) : 1U << info.code_bits;
  Encoded encoded;
  encoded.codes = codes_below(count, info.code_bits);
  const Tensor values = decode(encoded, format);
  ASSERT_EQ(values.dtype(), DType::f32);

  std::vector<float> held(values.as<float>().begin(), values.as<float>().end());
  std::vector<std::uint32_t> expected(count);
  std::uint32_t nans = 0;
  for (std::uint32_t code = 0; code < count; ++code) {
    expected[code] = code;
    if (!std::isnan(held[code])) continue;
    ASSERT_TRUE(info.has_nan);
    ++nans;
    expected[code] = encode_value(format.element, std::nan(""));  // the canonical one
  }
  EXPECT_EQ(nans > 0, info.has_nan);
  const std::uint32_t lowest = 1U << (info.code_bits - 1);
  if (grid != nullptr && grid->is_symmetric) expected[lowest] = lowest + 1;  // unused

  const Overflow overflow = info.has_infinity ? Overflow::infinity : Overflow::native;
  const Encoded again =
      encode(shaped(held, Shape{static_cast<std::int64_t>(count)}), format, {.overflow = overflow});
  ASSERT_EQ(again.codes.dtype(), encoded.codes.dtype());
  for (std::uint32_t code = 0; code < count; ++code) {
    ASSERT_EQ(code_at(again.codes, code), expected[code]) << "value " << held[code];
  }
}

TEST(Codes, EveryCodeOfANamedFormatDecodesAndEncodesBack) {
  int formats = 0;
  for (const NamedFormat& named : named_formats()) {
    const Format format = {parse_format(named.name).element, {}};
    if (describe(format.element).code_bits > 16) continue;
    SCOPED_TRACE(named.name);
    ++formats;
    expect_codes_come_back(format);
  }
  EXPECT_GT(formats, 20);
}

TEST(Codes, EveryCodeOfPositsFixedPointAndTablesDecodesAndEncodesBack) {
  for (const char* text :
       {"posit(2,0)", "posit(5,2)", "posit(8,1)", "posit(8,3)", "posit(16,1)", "posit(15,2)",
        "fixed(8,4)", "fixed(1,0)", "fixed(16,20)", "fixed(12,-3,symmetric)", "int16", "uint16",
        "codebook(new_format)", "codebook([1,2,3])", "p3109(8,3)", "p3109(8,3,unsigned)"}) {
    SCOPED_TRACE(text);
    expect_codes_come_back(parse_format(text));
  }
}

void expect_codes_say_what_quantize_says(const Format& format, const std::vector<float>& input,
                                         const Shape& shape, const QuantizeOptions& options,
                                         const std::string& what) {
  const std::vector<float> expected = quantized(input, shape, format, options);
  const Encoded encoded = encode(shaped(input, shape), format, options);
  const Tensor decoded = decode(encoded, format);
  ASSERT_EQ(decoded.shape(), shape);
  std::vector<float> got(input.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    got[i] = decoded.dtype() == DType::f32 ? decoded.as<float>()[i]
                                           : static_cast<float>(decoded.as<double>()[i]);
  }
  expect_same(input, got, expected, what);
}

std::vector<float> encodable_inputs(const Shape& shape, const Format& format) {
  std::vector<float> input = mixed_inputs(static_cast<std::size_t>(shape.elements()), format);
  for (float& x : input) {
    if (std::isnan(x) && !describe(format.element).has_nan) x = -0.25F;
  }
  return input;
}

bool has_codes(const Format& format) {
  const auto* grid = std::get_if<GridElement>(&format.element);
  return grid == nullptr || grid->clamps;
}

TEST(Encode, ThenDecodeGivesTheBitsOfQuantize) {
  const Shape shape{5, 83};
  for (const std::string& text : formats_under_test()) {
    const Format format = parse_format(text);
    if (!has_codes(format)) continue;
    const std::vector<float> input = encodable_inputs(shape, format);
    for (const Rounding& rounding : all_roundings()) {
      const QuantizeOptions options{.rounding = rounding, .random = {.seed = 3, .step = 9}};
      expect_codes_say_what_quantize_says(format, input, shape, options,
                                          text + " " + to_string(rounding));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Encode, GivesTheDefinitionsCodesOnEveryInstructionSet) {
  const Shape shape{3, 97};
  for (const std::string& text : formats_under_test()) {
    const Format format = parse_format(text);
    if (!has_codes(format)) continue;
    const std::vector<float> input = encodable_inputs(shape, format);
    for (const Rounding& rounding : all_roundings()) {
      const QuantizeOptions options{.rounding = rounding, .random = {.seed = 4}};
      set_isa(Isa::reference);
      const Encoded expected = encode(shaped(input, shape), format, options);
      for (const Isa isa : supported_isas()) {
        set_isa(isa);
        const Encoded got = encode(shaped(input, shape), format, options);
        for (std::size_t i = 0; i < input.size(); ++i) {
          ASSERT_EQ(code_at(got.codes, i), code_at(expected.codes, i))
              << text << " " << to_string(rounding) << " on " << name_of(isa) << ": " << input[i];
        }
      }
      reset_isa();
    }
  }
}

TEST(Encode, GivesTheDefinitionsCodesWhereValuesBecomeSubnormal) {
  const std::vector<float> input = {10 * 0x1p-149F, 3 * 0x1p-149F, 0x1p-149F,
                                    -0x1p-140F,     1e-38F,        2e-36F};
  const Shape shape{6};
  for (const char* text :
       {"fixed(8,130)", "fixed(8,149)", "fixed(8,7,scale=absmax)", "fixed(8,7,scale=1e-44)",
        "fixed(16,15,scale=1e-41)", "fixed(16,100,scale=1e-20)", "e4m3b60(scale=1e-38)",
        "e2m9b30(scale=1e-36)", "codebook([0,0.31,0.311],scale=1e-43)",
        "codebook([0,1,1.0000001],scale=1e-3)", "int8(scale=1e-40,zero=3)"}) {
    const Format format = parse_format(text);
    for (const Rounding& rounding : all_roundings()) {
      const QuantizeOptions options{.rounding = rounding};
      set_isa(Isa::reference);
      const Encoded expected = encode(shaped(input, shape), format, options);
      reset_isa();
      const Encoded got = encode(shaped(input, shape), format, options);
      for (std::size_t i = 0; i < input.size(); ++i) {
        ASSERT_EQ(code_at(got.codes, i), code_at(expected.codes, i))
            << text << " " << to_string(rounding) << " " << i;
      }
    }
  }
}

TEST(Encode, DecodesGivenScalesWithoutZeroPoints) {
  const std::vector<float> input = {1.0F, -2.0F, 3.0F, 4.0F};
  const Shape shape{2, 2};
  for (const char* text : {"int8(axis=0)", "e4m3(axis=0)"}) {
    const Format format = parse_format(text);
    Encoded encoded = encode(shaped(input, shape), format, {.scales = {0.5F, 0.25F}});
    encoded.zeros = Tensor();
    EXPECT_EQ(decode(encoded, format).as<float>()[3], 4.0F) << text;
  }
}

TEST(Encode, TakesTheScalesAndZerosBesideTheData) {
  const Shape shape{3, 40};
  const QuantizeOptions options{.scales = {0.5F, 0.013F, 7.0F}, .zeros = {0, 17, -3}};
  const Format format = parse_format("int8(axis=0)");
  const std::vector<float> input = encodable_inputs(shape, format);
  expect_codes_say_what_quantize_says(format, input, shape, options, "int8(axis=0)");

  const Encoded encoded = encode(shaped(input, shape), format, options);
  EXPECT_THAT(encoded.scales.as<float>(), ElementsAre(0.5F, 0.013F, 7.0F));
  EXPECT_THAT(encoded.zeros.as<std::int32_t>(), ElementsAre(0, 17, -3));
  EXPECT_EQ(encoded.scales.shape(), Shape{3});
}

TEST(Encode, KeepsTheZeroPointOfARange) {
  const std::vector<float> input = {-1, 0, 3, 4};
  const Encoded encoded = encode(shaped(input, {4}), parse_format("uint8(scale=minmax)"));
  EXPECT_EQ(encoded.scales.shape(), Shape{});
  EXPECT_EQ(encoded.scales.as<float>()[0], 5.0F / 255);
  EXPECT_EQ(encoded.zeros.as<std::int32_t>()[0], 51);
  EXPECT_THAT(encoded.codes.as<std::uint8_t>(), ElementsAre(0, 51, 204, 255));
}

TEST(Encode, KeepsBothScalesOfTwoLevels) {
  std::vector<float> input(32, 1.0F);
  input[3] = 2688;
  const Format format = parse_format("nvfp4");
  const Encoded encoded = encode(shaped(input, {1, 32}), format);
  EXPECT_EQ(encoded.tensor_scale, 1.0F);
  EXPECT_EQ(encoded.scales.shape(), (Shape{1, 2}));
  EXPECT_THAT(encoded.scales.as<float>(), ElementsAre(448.0F, 0.171875F));  // e4m3 of 1/6
  EXPECT_EQ(encoded.zeros.elements(), 0);
  EXPECT_EQ(code_at(encoded.codes, 3), 7U);
  EXPECT_EQ(code_at(encoded.codes, 16), 7U);  // 1 / 0.171875 is nearer to 6 than to 4
  expect_codes_say_what_quantize_says(format, input, {1, 32}, {}, "nvfp4");
}

TEST(Encode, TakesTheScaleOfTheTensorThatTwoLevelsFind) {
  std::vector<float> values(512);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i % 37) * 0.37F - 5.0F;
  }
  Format format = parse_format("nvfp4");
  const auto input = shaped(values, {8, 64});
  const Encoded found = encode(input, format);
  format.scaling.tensor_scale = found.tensor_scale;
  const Encoded given = encode(input, format);
  EXPECT_EQ(given.tensor_scale, found.tensor_scale);
  EXPECT_TRUE(std::ranges::equal(given.codes.as<std::uint8_t>(), found.codes.as<std::uint8_t>()));
  format.scaling.tensor_scale *= 2;
  const Encoded doubled = encode(input, format);
  EXPECT_EQ(doubled.tensor_scale, 2 * found.tensor_scale);
  EXPECT_EQ(doubled.scales.as<float>().front(), found.scales.as<float>().front() / 2);
}

TEST(Encode, HasNoScalesWhereTheFormatHasNone) {
  const Encoded encoded = encode(shaped(std::vector<float>{1, 2}, {2}), parse_format("e4m3"));
  EXPECT_EQ(encoded.scales.elements(), 0);
  EXPECT_EQ(encoded.zeros.elements(), 0);
  EXPECT_EQ(encoded.tensor_scale, 1.0F);
  EXPECT_THAT(encoded.codes.as<std::uint8_t>(), ElementsAre(0x38, 0x40));
}

TEST(Encode, CountsTheNansThatHaveNoCode) {
  const std::vector<float> input = {1, kNaN, 2, kNaN, -kNaN};
  for (const char* text : {"int8", "fixed(8,4)", "e2m1", "mxfp4", "nf4", "codebook([0,1])"}) {
    EXPECT_THAT(error_of([&] { encode(shaped(input, {5}), parse_format(text)); }),
                HasSubstr("which has no code for it: got 3, expected none"))
        << text;
  }
  for (const char* text : {"e4m3", "fp16", "posit(8,1)", "mxfp8", "e4m3fnuz", "e8m0"}) {
    EXPECT_NO_THROW(encode(shaped(input, {5}), parse_format(text))) << text;
  }
}

TEST(Encode, TakesFp32ToPositsThatOnlyDoubleHolds) {
  const Format format = parse_format("posit(32,3)");
  const Shape shape{500};
  const std::vector<float> input = encodable_inputs(shape, format);
  for (const Rounding& rounding : all_roundings()) {
    const QuantizeOptions options{.rounding = rounding};
    const Encoded encoded = encode(shaped(input, shape), format, options);
    EXPECT_EQ(encoded.codes.dtype(), DType::u32);
    const Tensor decoded = decode(encoded, format);
    ASSERT_EQ(decoded.dtype(), DType::f64);
    for (std::size_t i = 0; i < input.size(); ++i) {
      const std::uint32_t draw =
          rounding.random_bits > 16
              ? draw32({}, i) >> (32 - rounding.random_bits)
              : static_cast<std::uint32_t>(draw16({}, i)) >> (16 - rounding.random_bits);
      const double expected = round_to(format.element, static_cast<double>(input[i]), rounding,
                                       Overflow::native, rounding.is_stochastic() ? draw : 0);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(decoded.as<double>()[i]));
      } else {
        ASSERT_EQ(decoded.as<double>()[i], expected) << input[i];
      }
    }
  }
  EXPECT_THROW(quantized(input, shape, format, {}), Error);
}

TEST(Encode, RefusesWhatHasNoCodes) {
  const std::vector<float> input = {1, 2};
  EXPECT_THAT(error_of([&] { encode(shaped(input, {2}), parse_format("fixed(8,4,clamp=off)")); }),
              HasSubstr("a code has a fixed width"));
  EXPECT_THAT(error_of([&] {
                encode(shaped(input, {2}), parse_format("fixed(8,4)"), {.compat = Compat::qtorch});
              }),
              HasSubstr("[encode] compat mode: got qtorch"));
  EXPECT_THROW(encode(shaped(input, {2}), parse_format("e2m1"), {.overflow = Overflow::nan}),
               Error);
}

TEST(Encode, TakesEmptyTensorsAndScalars) {
  for (const std::string& text : formats_under_test()) {
    const Format format = parse_format(text);
    if (!has_codes(format)) continue;
    SCOPED_TRACE(text);
    for (const Shape& shape : {Shape{0, 4}, Shape{4, 0}}) {
      const Encoded encoded = encode(shaped(std::vector<float>{}, shape), format);
      EXPECT_EQ(decode(encoded, format).shape(), shape);
    }
    if (format.scaling.axis > 0) continue;  // a scalar has no axis
    expect_codes_say_what_quantize_says(format, {1.3F}, Shape{}, {}, text);
  }
}

TEST(Decode, RefusesCountsThatDoNotFitTheCodes) {
  const std::vector<float> input(64, 1.5F);
  const Format blocks = parse_format("mxfp4");
  Encoded encoded = encode(shaped(input, {64}), blocks);
  encoded.scales = Tensor(DType::f32, {3});
  EXPECT_THAT(error_of([&] { decode(encoded, blocks); }),
              HasSubstr("number of scales: got 3, expected 2"));

  const Format affine = parse_format("uint8(scale=minmax)");
  encoded = encode(shaped(input, {64}), affine);
  encoded.zeros = Tensor();
  EXPECT_THAT(error_of([&] { decode(encoded, affine); }),
              HasSubstr("number of zero points: got 0, expected 1"));
}

TEST(Decode, GivesPlusZeroForBlocksOfZerosAlongAnyAxis) {
  const std::vector<float> input = {0, 6, 0, 6};
  for (const char* text : {"nvfp4", "nvfp4(axis=0)"}) {
    const Format format = parse_format(text);
    const Tensor decoded = decode(encode(shaped(input, {2, 2}), format), format);
    EXPECT_FALSE(std::signbit(decoded.as<float>()[0])) << text;
  }
}

TEST(Decode, RefusesCodesBeyondTheFormat) {
  Encoded encoded;
  encoded.codes = codes_below(17, 8);
  EXPECT_THROW(decode(encoded, parse_format("e2m1")), Error);
  EXPECT_THROW(decode(encoded, parse_format("codebook([1,2,3])")), Error);
  encoded.codes = Tensor(DType::f32, {2});
  EXPECT_THAT(error_of([&] { decode(encoded, parse_format("e4m3")); }),
              HasSubstr("type of the codes: got f32"));
}

TEST(CodeMap, OfTheLastFewElementsIsMadeOnce) {
  const Element half = parse_format("fp16").element;
  const auto first = CodeMap::of(half);
  EXPECT_EQ(CodeMap::of(half), first);
  EXPECT_NE(CodeMap::of(parse_format("bf16").element), first);
  for (int bits = 4; bits <= 12; ++bits)
    EXPECT_NE(CodeMap::of(parse_format("posit(" + std::to_string(bits) + ",1)").element), nullptr);
  EXPECT_NE(CodeMap::of(half), first);
  EXPECT_EQ(CodeMap::of(parse_format("fp32").element), nullptr);
}

}  // namespace
}  // namespace nibble::inline kernels
