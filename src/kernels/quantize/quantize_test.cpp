// SPDX-License-Identifier: Apache-2.0
// Every path equals the definition bit for bit, on every instruction set, for any thread count.
#include "nibble/kernels/quantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/quantize/test_inputs.h"
#include "nibble/core/error.h"
#include "nibble/core/isa.h"
#include "nibble/core/parallel.h"

namespace nibble {
namespace {

std::vector<std::string> formats_under_test() {
  std::vector<std::string> texts;
  for (const NamedFormat& named : named_formats()) texts.emplace_back(named.name);
  for (const char* text : {"float(4,3)",
                           "e6m9",
                           "e1m3fnuz",
                           "e4m0",
                           "e3m0b2fn",
                           "float(5,4,bias=3,specials=finite)",
                           "fp16(subnormals=off)",
                           "e4m3(subnormals=off)",
                           "p3109(8,4)",
                           "p3109(8,3,unsigned)",
                           "p3109(6,1)",
                           "float(4,3,specials=finite,unsigned)",
                           "e4m3(scale=0.3)",
                           "fp16(scale=7e-3)",
                           "fixed(8,4)",
                           "fixed(8,4,symmetric)",
                           "fixed(8,0)",
                           "fixed(8,-3)",
                           "fixed(16,8,clamp=off)",
                           "fixed(4,30)",
                           "fixed(25,12)",
                           "fixed(32,16,clamp=off)",
                           "fixed(1,0)",
                           "int2",
                           "int16",
                           "int8(scale=0.1)",
                           "uint4(scale=0.37,zero=8)",
                           "int8(scale=absmax)",
                           "int8(scale=absmax,axis=0)",
                           "int4(scale=absmax,axis=1)",
                           "uint8(scale=minmax)",
                           "uint8(scale=minmax,axis=1)",
                           "int8(scale=absmax,block=24)",
                           "uint8(scale=minmax,block=16)",
                           "bfp(8)",
                           "bfp(8,axis=0)",
                           "bfp(4,axis=1)",
                           "bfp(8,block=16)",
                           "bfp(5,block=7)",
                           "bfp(8,block=32,axis=0)",
                           "mxfp4(rule=rceil)",
                           "mxfp4(rule=ceil)",
                           "mxfp4(rule=even)",
                           "mxfp8(rule=rceil)",
                           "mxfp6-e3m2(rule=even,block=16)",
                           "mxint8(rule=even)",
                           "mxint8(rule=rceil)",
                           "mxfp8(axis=0)",
                           "nvfp4(axis=0)",
                           "nvfp4(block=32)",
                           "e8m7(scale=pow2,block=32)",
                           "fixed(8,8,scale=pow2)",
                           "posit(2,0)",
                           "posit(3,1)",
                           "posit(8,0)",
                           "posit(8,1)",
                           "posit(8,2)",
                           "posit(8,3)",
                           "posit(16,0)",
                           "posit(16,1)",
                           "posit(16,2)",
                           "posit(17,3)",
                           "posit(32,2)",
                           "posit(8,1,scale=0.25)",
                           "posit(8,2,scale=absmax,block=32)",
                           "codebook(nf4)",
                           "codebook(new_format)",
                           "codebook(act_format)",
                           "codebook(nf4,scale=0.7)",
                           "codebook([-1,1])",
                           "codebook([-3,-2,5])",
                           "codebook([1e-30,1,1e30])",
                           "codebook([0.5,1,2,4],signed)"}) {
    texts.emplace_back(text);
  }
  return texts;
}

std::vector<Rounding> all_roundings() {
  return {{RoundingMode::nearest_even},  {RoundingMode::nearest_away},
          {RoundingMode::toward_zero},   {RoundingMode::up},
          {RoundingMode::down},          {RoundingMode::to_odd},
          {RoundingMode::stochastic},    {RoundingMode::stochastic, 16},
          {RoundingMode::stochastic, 5}, {RoundingMode::stochastic, 20}};
}

std::vector<float> quantized(const std::vector<float>& input, const Shape& shape,
                             const Format& format, const QuantizeOptions& options) {
  std::vector<float> output(input.size());
  quantize({reinterpret_cast<const std::byte*>(input.data()), DType::f32, shape},
           {reinterpret_cast<std::byte*>(output.data()), DType::f32, shape}, format, options);
  return output;
}

// Bits, with one NaN.
std::uint32_t pattern(float x) {
  return std::isnan(x) ? 0x7FC00000U : std::bit_cast<std::uint32_t>(x);
}

void expect_same(const std::vector<float>& input, const std::vector<float>& got,
                 const std::vector<float>& expected, const std::string& what) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(pattern(got[i]), pattern(expected[i]))
        << what << ": element " << i << " = " << std::hexfloat << input[i] << " gave " << got[i]
        << ", the definition says " << expected[i];
  }
}

class EveryFormat : public testing::TestWithParam<std::string> {
 protected:
  void TearDown() override {
    reset_isa();
    set_thread_count(0);
  }
};

TEST_P(EveryFormat, GivesTheDefinitionsBitsOnEveryInstructionSet) {
  const Format format = parse_format(GetParam());
  const Shape shape{6, 331};
  const std::vector<float> input = mixed_inputs(static_cast<std::size_t>(shape.elements()), format);
  for (const Rounding& rounding : all_roundings()) {
    const QuantizeOptions options{.rounding = rounding,
                                  .random = {.seed = 7, .stream = 3, .step = 2}};
    set_isa(Isa::reference);
    const std::vector<float> expected = quantized(input, shape, format, options);
    for (const Isa isa : supported_isas()) {
      set_isa(isa);
      const std::string what =
          GetParam() + " " + to_string(rounding) + " " + std::string(name_of(isa));
      expect_same(input, quantized(input, shape, format, options), expected, what);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(EveryFormat, TakesEveryOverflowRuleItHas) {
  const Format format = parse_format(GetParam());
  const Shape shape{3, 200};
  const std::vector<float> input = mixed_inputs(static_cast<std::size_t>(shape.elements()), format);
  for (const Overflow overflow : {Overflow::saturate, Overflow::infinity, Overflow::nan}) {
    for (const RoundingMode mode : {RoundingMode::nearest_even, RoundingMode::up,
                                    RoundingMode::toward_zero, RoundingMode::stochastic}) {
      const QuantizeOptions options{.rounding = {mode}, .overflow = overflow};
      set_isa(Isa::reference);
      std::vector<float> expected;
      try {
        expected = quantized(input, shape, format, options);
      } catch (const Error&) {
        continue;  // no meaning here: the parser tests say which
      }
      for (const Isa isa : supported_isas()) {
        set_isa(isa);
        expect_same(input, quantized(input, shape, format, options), expected,
                    GetParam() + " overflow on " + std::string(name_of(isa)));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(EveryFormat, DoesNotDependOnThreadsOrOnWhereTheTensorIsCut) {
  const Format format = parse_format(GetParam());
  const Shape shape{5, 40009};
  const std::vector<float> input = mixed_inputs(static_cast<std::size_t>(shape.elements()), format);
  for (const Rounding& rounding : {Rounding{}, Rounding{RoundingMode::stochastic}}) {
    const QuantizeOptions options{.rounding = rounding, .random = {.seed = 1}};
    set_thread_count(1);
    const std::vector<float> expected = quantized(input, shape, format, options);
    for (const int threads : {2, 3}) {
      set_thread_count(threads);
      expect_same(input, quantized(input, shape, format, options), expected, GetParam());
    }
    // In place.
    std::vector<float> same = input;
    quantize({reinterpret_cast<const std::byte*>(same.data()), DType::f32, shape},
             {reinterpret_cast<std::byte*>(same.data()), DType::f32, shape}, format, options);
    expect_same(input, same, expected, GetParam() + " in place");
  }
}

TEST_P(EveryFormat, LeavesWhatIsAlreadyThere) {
  const Format format = parse_format(GetParam());
  if (format.scaling.kind == ScaleKind::minmax || format.scaling.kind == ScaleKind::two_level ||
      format.scaling.rule != ScaleRule::floor) {
    return;  // their scale is drawn from the data anew; docs/formats/blocks.md says what holds
  }
  const Shape shape{4, 96};
  std::vector<float> values = mixed_inputs(static_cast<std::size_t>(shape.elements()), format);
  for (float& x : values) {
    if (!std::isfinite(x)) x = 1;
  }
  const bool from_data = format.scaling.kind == ScaleKind::absmax;
  values = quantized(values, shape, format, {});
  for (const Rounding& rounding : all_roundings()) {
    if (from_data && rounding.mode != RoundingMode::nearest_even) continue;
    expect_same(values, quantized(values, shape, format, {.rounding = rounding}), values,
                GetParam() + " " + to_string(rounding));
  }
}

INSTANTIATE_TEST_SUITE_P(Quantize, EveryFormat, testing::ValuesIn(formats_under_test()),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name + "_" + std::to_string(test.index);
                         });

}  // namespace
}  // namespace nibble
