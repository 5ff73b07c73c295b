// SPDX-License-Identifier: Apache-2.0
// The constants of the kernels against the definition they stand for.
#include "kernels/quantize/plan.h"
#include "kernels/simd/portable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/quantize/block_scales.h"
#include "kernels/quantize/test_formats.h"

namespace nibble::inline kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Plan, ThresholdsOfACodebookAreExact) {
  for (const char* text : {"codebook(nf4)", "codebook(new_format)", "codebook(act_format)",
                           "codebook([-1,1])", "codebook([-3,-2,5])", "codebook([1e-30,1,1e30])",
                           "codebook([1e-45,3e-45,3e38])", "codebook([-3e38,3e38])"}) {
    const Format format = parse_format(text);
    const auto& values = std::get<CodebookElement>(format.element).values;
    for (const Rounding& rounding : all_roundings()) {
      if (rounding.is_stochastic()) continue;
      SCOPED_TRACE(std::string(text) + " " + to_string(rounding));
      const auto program = RoundProgram::make(format, 0, rounding, Overflow::native);
      ASSERT_NE(program, nullptr);
      const TablePlan& table = program->plan().table;
      const auto rounded = [&](float x) {
        return static_cast<float>(round_to(format.element, static_cast<double>(x), rounding));
      };
      for (std::size_t i = 0; i + 1 < values.size(); ++i) {
        const float start = table.thresholds[i];
        EXPECT_EQ(rounded(start), values[i + 1]);
        EXPECT_EQ(rounded(std::nextafter(start, -kInf)), values[i]);
        EXPECT_EQ(table.toward[i], values[i]);
      }
      EXPECT_EQ(table.toward[values.size() - 1], values.back());
      for (std::size_t i = values.size() - 1; i < std::size_t{1} << table.levels; ++i) {
        EXPECT_TRUE(std::isnan(table.thresholds[i])) << "padding must never be passed";
      }
    }
  }
}

TEST(Plan, CellsOfAStochasticCodebookEndAtItsEntries) {
  const Format format = parse_format("codebook([-2,-0.5,0,1,4])");
  const auto program = RoundProgram::make(format, 0, {RoundingMode::stochastic}, Overflow::native);
  ASSERT_NE(program, nullptr);
  const TablePlan& table = program->plan().table;
  EXPECT_EQ(std::vector<float>(table.toward, table.toward + 4),
            (std::vector<float>{-0.5F, 0, 0, 1}));
  EXPECT_EQ(std::vector<float>(table.away, table.away + 4), (std::vector<float>{-2, -0.5F, 1, 4}));
  EXPECT_EQ(std::vector<float>(table.thresholds, table.thresholds + 3),
            (std::vector<float>{-0.5F, 0, 1}));
  EXPECT_TRUE(std::isnan(table.thresholds[3]));
}

TEST(Plan, SharedExponentsAreThoseOfTheDefinition) {
  for (const char* element : {"e2m1", "e4m3", "e5m2", "e2m3", "e3m2", "fixed(8,6,symmetric)",
                              "fixed(8,0)", "fixed(4,2)", "e5m10", "int8"}) {
    for (const char* rule : {"floor", "ceil", "even", "rceil"}) {
      const std::string text = std::string(element).back() == ')'
                                   ? std::string(element, std::string(element).size() - 1) + ","
                                   : std::string(element) + "(";
      const Format format = parse_format(text + "scale=pow2,block=32,rule=" + rule + ")");
      const auto plan = make_block_plan(format);
      ASSERT_TRUE(plan.has_value());
      const auto expect_at = [&](std::uint32_t bits) {
        ASSERT_EQ(static_cast<int>(shared_exponents<portable::Simd>(*plan, bits)),
                  shared_exponent(format.element, format.scaling.rule, std::bit_cast<float>(bits)))
            << to_string(format) << " of " << std::bit_cast<float>(bits);
      };
      for (std::uint32_t bits = 0; bits < 0x7F800000U; bits += 65521) expect_at(bits);
      for (std::uint32_t bits = 0x300000; bits < 0x800000; bits += 255) expect_at(bits);
      for (std::uint32_t field = 1; field < 255; ++field) {
        for (std::uint32_t mantissa = 0; mantissa < 64; ++mantissa) {
          const std::uint32_t bits = field << 23 | mantissa << 17;
          for (const std::uint32_t near : {bits - 1, bits, bits + 1}) expect_at(near);
        }
      }
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Plan, LeavesToTheDefinitionWhatKernelsCannotHold) {
  const auto plans = [](const char* text) {
    return RoundProgram::make(parse_format(text), 0, {}, Overflow::native) != nullptr;
  };
  EXPECT_FALSE(plans("posit(32,3)"));                // leaves fp32
  EXPECT_FALSE(plans("fixed(8,130)"));               // its steps are subnormal
  EXPECT_FALSE(plans("e8m7(scale=pow2,block=32)"));  // 2^-133 under a shared exponent
  EXPECT_FALSE(plans("fixed(8,8,scale=pow2)"));      // its largest value is below 1
  EXPECT_TRUE(plans("posit(32,2)"));
  EXPECT_TRUE(plans("e8m7"));
  EXPECT_TRUE(plans("mxint8"));
}

TEST(Plan, HasTheNearestRoundingBesideEveryOther) {
  for (const Rounding& rounding : all_roundings()) {
    const auto program =
        RoundProgram::make(parse_format("e4m3(scale=0.3)"), 0, rounding, Overflow::native);
    ASSERT_NE(program, nullptr);
    ASSERT_NE(program->plan().nearest, nullptr);
    EXPECT_EQ(program->plan().nearest->kind, RoundingKind::nearest_even);
    EXPECT_EQ(program->plan().nearest == &program->plan(),
              rounding.mode == RoundingMode::nearest_even);
  }
}

TEST(Plan, OnlyScalesFromTheLargestMagnitudeMakeABlockPlan) {
  EXPECT_FALSE(make_block_plan(parse_format("e4m3")).has_value());
  EXPECT_FALSE(make_block_plan(parse_format("e4m3(scale=2)")).has_value());
  EXPECT_FALSE(make_block_plan(parse_format("uint8(scale=minmax,block=8)")).has_value());
  EXPECT_EQ(make_block_plan(parse_format("nvfp4"))->kind, ScaleKind::two_level);
  EXPECT_EQ(make_block_plan(parse_format("nf4"))->block, 64U);
}

}  // namespace
}  // namespace nibble::inline kernels
