// SPDX-License-Identifier: Apache-2.0
// The call itself: shapes, types, places in memory, and which path ran.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/isa.h"
#include "kernels/quantize/kernels.h"
#include "kernels/quantize/test_compare.h"
#include "kernels/quantize/test_formats.h"
#include "kernels/quantize/test_inputs.h"
#include "nibble/core/error.h"
#include "nibble/kernels/quantize.h"
#include "numerics/compat_qtorch.h"

namespace nibble::inline kernels {
namespace {

using testing::HasSubstr;

// One format for each loop of the kernels: float, grid, posit, small and large table, one scale,
// blocks of both kinds, blocks with a short end, an axis, short runs, blocks along an outer axis.
const char* const kLoops[] = {"e4m3",
                              "fixed(8,4)",
                              "posit(8,1)",
                              "codebook(nf4)",
                              "codebook(new_format)",
                              "int8(scale=absmax)",
                              "mxfp4",
                              "nvfp4",
                              "bfp(8,block=7)",
                              "bfp(8,axis=0)",
                              "int8(scale=absmax,axis=1)",
                              "mxfp8(axis=0)"};

class QuantizeCall : public testing::Test {
 protected:
  void TearDown() override { reset_isa(); }

  static std::string error_of(ConstTensorView input, TensorView output, const char* format,
                              const QuantizeOptions& options = {}) {
    try {
      quantize(input, output, parse_format(format), options);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_F(QuantizeCall, RefusesAnotherShape) {
  const std::vector<float> x = {1, 2, 3, 4};
  std::vector<float> y(4);
  EXPECT_EQ(error_of(shaped(x, {2, 2}), shaped(y, {4}), "e4m3"),
            "[quantize] shape of the output: got (4,), expected (2, 2)");
}

TEST_F(QuantizeCall, RefusesOtherTypes) {
  const Tensor halves(DType::f16, {2});
  const Tensor integers(DType::i32, {2});
  Tensor floats(DType::f32, {2});
  Tensor brains(DType::bf16, {2});
  Tensor more_integers(DType::i32, {2});
  std::fill(floats.as<float>().begin(), floats.as<float>().end(), 1.0F);
  EXPECT_THAT(error_of(std::as_const(floats).view(), brains.view(), "e4m3"),
              HasSubstr("type of the output: got bf16, expected f32"));
  EXPECT_THAT(error_of(halves.view(), brains.view(), "e4m3"),
              HasSubstr("type of the output: got bf16, expected f32 or f16"));
  EXPECT_THAT(error_of(integers.view(), floats.view(), "e4m3"),
              HasSubstr("type of the input: got i32, expected f32, f16 or bf16"));
  EXPECT_THAT(error_of(integers.view(), more_integers.view(), "e4m3"),
              HasSubstr("type of the input"));
}

TEST_F(QuantizeCall, RefusesFormatsAndRulesWithoutMeaning) {
  const std::vector<float> x = {1, 2};
  std::vector<float> y(2);
  EXPECT_THAT(error_of(shaped(x, {2}), shaped(y, {2}), "posit(32,3)"),
              HasSubstr("values of posit(32,3) leave fp32"));
  EXPECT_NE(error_of(shaped(x, {2}), shaped(y, {2}), "e2m1", {.overflow = Overflow::infinity}),
            "no error");
  EXPECT_NE(error_of(shaped(x, {2}), shaped(y, {2}), "e4m3",
                     {.rounding = {RoundingMode::stochastic, 33}}),
            "no error");
  EXPECT_NE(error_of(shaped(x, {2}), shaped(y, {2}), "mxfp8(axis=1)"), "no error");
}

TEST_F(QuantizeCall, TakesEmptyTensors) {
  for (const std::string& text : formats_under_test()) {
    for (const Shape& shape : {Shape{0}, Shape{0, 3}, Shape{3, 0}, Shape{2, 0, 3}}) {
      quantize(ConstTensorView(nullptr, DType::f32, shape), TensorView(nullptr, DType::f32, shape),
               parse_format(text));
    }
  }
}

TEST_F(QuantizeCall, TakesScalars) {
  for (const std::string& text : formats_under_test()) {
    const Format format = parse_format(text);
    if (format.scaling.axis > 0) continue;
    for (const float x : {0.7F, -1e-3F, 1e9F}) {
      set_isa(Isa::reference);
      const std::vector<float> expected = quantized({x}, Shape{}, format, {});
      for (const Isa isa : supported_isas()) {
        set_isa(isa);
        expect_same({x}, quantized({x}, Shape{}, format, {}), expected, text);
      }
    }
  }
}

TEST_F(QuantizeCall, TakesEightDimensions) {
  const Shape shape{2, 1, 3, 2, 5, 1, 2, 7};
  for (const char* name : {"e4m3", "mxfp8(block=4", "int8(scale=absmax", "nvfp4(block=3"}) {
    for (int axis = -8; axis < 8; ++axis) {
      const std::string base = name;
      if (base == "e4m3" && axis != 0) continue;
      const std::string text = base == "e4m3" ? base : base + ",axis=" + std::to_string(axis) + ")";
      const Format format = parse_format(text);
      const std::vector<float> input =
          mixed_inputs(static_cast<std::size_t>(shape.elements()), format);
      for (const Rounding& rounding : {Rounding{}, Rounding{RoundingMode::stochastic, 12}}) {
        set_isa(Isa::reference);
        const auto expected = quantized(input, shape, format, {.rounding = rounding});
        for (const Isa isa : supported_isas()) {
          set_isa(isa);
          expect_same(input, quantized(input, shape, format, {.rounding = rounding}), expected,
                      text + " " + std::string(name_of(isa)));
        }
      }
    }
  }
}

TEST_F(QuantizeCall, RunsOnTheInstructionSetThatWasAskedFor) {
  const Shape shape{12, 96};
  for (const char* text : kLoops) {
    const Format format = parse_format(text);
    const std::vector<float> input =
        mixed_inputs(static_cast<std::size_t>(shape.elements()), format);
    for (const Isa isa : supported_isas()) {
      for (const Rounding& rounding : all_roundings()) {
        report_isa_used(isa == Isa::reference ? Isa::portable : Isa::reference);
        set_isa(isa);
        quantized(input, shape, format, {.rounding = rounding});
        EXPECT_EQ(last_isa_used(), best_path(kQuantizePaths, isa).isa)
            << text << " " << to_string(rounding);
      }
    }
  }
}

TEST_F(QuantizeCall, SaysWhenTheDefinitionHadToServe) {
  set_isa(supported_isas().back());
  report_isa_used(Isa::portable);
  quantized({1, 2}, {2}, parse_format("fixed(8,130)"), {});
  EXPECT_EQ(last_isa_used(), Isa::reference);
}

TEST_F(QuantizeCall, WorksWhereverTheDataLies) {
  const std::size_t count = 77;
  std::vector<float> in(count + 16);
  std::vector<float> out(count + 16);
  for (const char* text : kLoops) {
    const Format format = parse_format(text);
    const std::vector<float> input = mixed_inputs(count, format);
    const Shape shape{7, 11};
    for (const Isa isa : supported_isas()) {
      set_isa(isa);
      const QuantizeOptions options{.rounding = {RoundingMode::stochastic}};
      const std::vector<float> expected = quantized(input, shape, format, options);
      for (std::size_t offset = 0; offset < 16; ++offset) {
        std::copy(input.begin(), input.end(), in.begin() + static_cast<std::ptrdiff_t>(offset));
        const std::size_t other = 15 - offset;
        std::fill(out.begin(), out.end(), 12345.0F);
        quantize({reinterpret_cast<std::byte*>(&in[offset]), DType::f32, shape},
                 {reinterpret_cast<std::byte*>(&out[other]), DType::f32, shape}, format, options);
        const auto begin = out.begin() + static_cast<std::ptrdiff_t>(other);
        expect_same(input, {begin, begin + count}, expected, text);
        if (HasFatalFailure()) return;
        for (std::size_t i = 0; i < out.size(); ++i) {
          if (i < other || i >= other + count) {
            ASSERT_EQ(out[i], 12345.0F) << text << " wrote beside its output";
          }
        }
      }
    }
  }
}

TEST_F(QuantizeCall, BlocksOfSubnormalsHaveTheirTrueExponent) {
  const Shape shape{64, 32};
  std::vector<float> input(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < input.size(); ++i) {
    const std::size_t dropped = i / 32 / 2;
    input[i] = std::bit_cast<float>(draw32({.seed = 8}, i) >> 9 >> dropped) * (i % 2 == 0 ? 1 : -1);
  }
  for (const char* text : {"mxint8(rule=ceil)", "mxint8(rule=rceil)", "mxint8(rule=even)", "mxint8",
                           "mxfp4(rule=ceil)", "mxfp8(rule=rceil)"}) {
    set_isa(Isa::reference);
    const std::vector<float> expected = quantized(input, shape, parse_format(text), {});
    for (const Isa isa : supported_isas()) {
      set_isa(isa);
      expect_same(input, quantized(input, shape, parse_format(text), {}), expected, text);
    }
  }
}

// Long lines of short blocks start everywhere among the lanes of the draws.
TEST_F(QuantizeCall, DrawsFitTheirSpaceWhereverALineStarts) {
  const Shape shape{9, 4098};
  for (const char* text : {"bfp(5,block=7)", "mxfp8(axis=0,block=2)", "nvfp4"}) {
    const Format format = parse_format(text);
    const std::vector<float> input =
        mixed_inputs(static_cast<std::size_t>(shape.elements()), format);
    for (const int bits : {16, 32}) {
      const QuantizeOptions options{.rounding = {RoundingMode::stochastic, bits}};
      set_isa(Isa::reference);
      const std::vector<float> expected = quantized(input, shape, format, options);
      for (const Isa isa : supported_isas()) {
        set_isa(isa);
        expect_same(input, quantized(input, shape, format, options), expected, text);
      }
    }
  }
}

TEST_F(QuantizeCall, LargeTensorsThatGoPastTheCachesGetTheSameBits) {
  const Shape shape{52, 1 << 17};  // 26 MiB
  Tensor input(DType::f32, shape);
  const std::span<float> x = input.as<float>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto word = static_cast<std::uint32_t>(i) * 2654435761U;
    x[i] = static_cast<float>(static_cast<std::int32_t>(word)) * 0x1p-28F;
  }
  Tensor output(DType::f32, shape);
  // One float past an aligned place nothing is streamed.
  Tensor space(DType::f32, {shape.elements() + 1});
  const std::span<const float> beside = std::as_const(space).as<float>().subspan(1);
  const TensorView beside_view(space.data() + sizeof(float), DType::f32, shape);
  for (const char* text : {"e4m3", "mxfp4", "nvfp4", "int8(scale=absmax)"}) {
    const Format format = parse_format(text);
    for (const Isa isa : supported_isas()) {
      if (isa == Isa::reference) continue;
      set_isa(isa);
      for (const Rounding& rounding : {Rounding{}, Rounding{RoundingMode::stochastic}}) {
        quantize(input.view(), output.view(), format, {.rounding = rounding});
        quantize(input.view(), beside_view, format, {.rounding = rounding});
        ASSERT_EQ(std::memcmp(output.data(), beside.data(), output.bytes()), 0)
            << text << " " << to_string(rounding) << " on " << name_of(isa);
      }
    }
  }
}

TEST_F(QuantizeCall, APieceOfALargeTensorIsRoundedAsOnItsOwn) {
  const std::size_t count = (std::size_t{26} << 20) / sizeof(float);
  for (const char* text : {"e4m3", "mxfp4"}) {
    const Format format = parse_format(text);
    const std::vector<float> pattern_of = mixed_inputs(4096, format);
    std::vector<float> input(count);
    for (std::size_t i = 0; i < count; ++i) input[i] = pattern_of[i % 4096];
    const auto length = static_cast<std::int64_t>(count);
    const std::vector<float> piece = quantized(pattern_of, {4096}, format, {});
    Tensor output(DType::f32, {length});
    quantize(shaped(input, {length}), output.view(), format);
    for (std::size_t i = 0; i < count; i += 4096) {
      ASSERT_EQ(std::memcmp(output.as<float>().data() + i, piece.data(), 4096 * sizeof(float)), 0)
          << text << " from element " << i;
    }
  }
}

TEST_F(QuantizeCall, CompatGivesThePackagesRoundingElementByElement) {
  const Shape shape{3, 50};
  for (const char* text :
       {"float(4,3)", "fixed(8,4)", "bfp(8)", "bfp(8,axis=0)", "bfp(8,axis=1)"}) {
    const Format format = parse_format(text);
    const std::vector<float> input =
        mixed_inputs(static_cast<std::size_t>(shape.elements()), format);
    for (const Compat compat : {Compat::qtorch, Compat::qtorch_bits}) {
      for (const Rounding& rounding : {Rounding{}, Rounding{RoundingMode::stochastic}}) {
        const QuantizeOptions options{
            .rounding = rounding, .random = {.seed = 4}, .compat = compat};
        report_isa_used(Isa::portable);
        const std::vector<float> got = quantized(input, shape, format, options);
        EXPECT_EQ(last_isa_used(), Isa::reference);
        std::vector<float> expected(input.size());
        for (std::size_t i = 0; i < input.size(); ++i) {
          const auto group_of = [&](std::size_t j) {
            if (format.scaling.granularity == Granularity::tensor) return std::size_t{0};
            return format.scaling.axis == 0 ? j / 50 : j % 50;
          };
          float largest = 0;
          for (std::size_t j = 0; j < input.size(); ++j) {
            if (group_of(j) == group_of(i)) largest = compat_group_max(largest, input[j]);
          }
          const std::uint32_t draw = rounding.is_stochastic() ? draw32({.seed = 4}, i) : 0;
          expected[i] = compat_round(format, compat, rounding, largest, input[i], draw);
        }
        expect_same(input, got, expected,
                    std::string(text) + " as " + std::string(to_string(compat)));
      }
    }
  }
}

TEST_F(QuantizeCall, CompatRefusesWhatThePackageDoesNotHave) {
  const std::vector<float> x = {1, 2};
  std::vector<float> y(2);
  EXPECT_NE(error_of(shaped(x, {2}), shaped(y, {2}), "posit(8,1)", {.compat = Compat::qtorch}),
            "no error");
  EXPECT_NE(error_of(shaped(x, {2}), shaped(y, {2}), "mxfp4", {.compat = Compat::qtorch}),
            "no error");
  EXPECT_EQ(error_of(shaped(x, {2}), shaped(y, {2}), "posit(8,1)", {.compat = Compat::qtorch_plus}),
            "no error");
}

TEST_F(QuantizeCall, CompatTakesThePackagesWordLengthsAndNoOptionsOfItsOwn) {
  const std::vector<float> input = {1e9F, -0.3F, 2.5F};
  const Shape shape{3};
  const Format wide = parse_format("fixed(30,4)");
  EXPECT_THROW(quantized(input, shape, wide, {}), Error);  // its largest value is no fp32 value
  EXPECT_EQ(quantized(input, shape, wide, {.compat = Compat::qtorch})[0], 0x1p25F);
  const Format format = parse_format("fixed(8,4)");
  EXPECT_THROW(
      quantized(input, shape, format, {.overflow = Overflow::saturate, .compat = Compat::qtorch}),
      Error);
  EXPECT_THROW(quantized(input, shape, format, {.compat = Compat::qtorch, .scales = {1.0F}}),
               Error);
}

TEST_F(QuantizeCall, RefusesScalesBesideTheDataOfAFormatThatHasItsOwn) {
  const std::vector<float> input(64, 1.0F);
  for (const char* text : {"mxfp4", "nvfp4", "nf4", "e4m3", "bfp(8,axis=0)"}) {
    EXPECT_THROW(quantized(input, Shape{2, 32}, parse_format(text), {.scales = {1.0F, 2.0F}}),
                 Error)
        << text;
  }
}

TEST_F(QuantizeCall, TakesBlocksFarLongerThanALine) {
  const std::vector<float> input(3 * 50, 0.7F);
  const Shape shape{3, 50};
  const QuantizeOptions options{.rounding = {RoundingMode::stochastic}};
  EXPECT_EQ(quantized(input, shape, parse_format("mxfp4(block=2000000000)"), options),
            quantized(input, shape, parse_format("mxfp4(block=50)"), options));
}

TEST_F(QuantizeCall, RefusesAnAxisThatAScalarDoesNotHave) {
  EXPECT_THROW(quantized({1.0F}, Shape{}, parse_format("int8(scale=absmax,axis=5)"), {}), Error);
  EXPECT_EQ(quantized({1.0F}, Shape{}, parse_format("bfp(8,block=4)"), {})[0], 1.0F);
}

}  // namespace
}  // namespace nibble::inline kernels
