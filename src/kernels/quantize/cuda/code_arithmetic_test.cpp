// SPDX-License-Identifier: Apache-2.0
// What the kernels of a GPU compute of codes, computed on the CPU: every code of 9 to 16 bits.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kernels/quantize/code_map.h"
#include "kernels/quantize/cuda/decoding.h"
#include "kernels/quantize/cuda/encode.h"
#include "kernels/quantize/cuda/table_draws.h"
#include "nibble/core/philox.h"
#include "nibble/numerics/format.h"
#include "numerics/scaled.h"

namespace nibble::cuda {
namespace {

constexpr const char* kPosits[] = {"posit(16,2)", "posit(16,1)", "posit(16,0)", "posit(12,1)",
                                   "posit(9,2)"};
constexpr const char* kFloats[] = {"fp16", "e6m9", "e4m11", "e3m6"};
constexpr const char* kFloatsWithoutMinusZero[] = {"p3109(8,3)", "p3109(8,4)", "p3109(6,3)",
                                                   "e4m3fnuz",   "e5m2fnuz",   "e5m10fnuz"};

TEST(CodeArithmetic, DecodesWideCodes) {
  const auto expect_way = [](const std::string& text, DecodeWay way) {
    const Element element = parse_format(text).element;
    EXPECT_EQ(known_decoding(element).decoding.way, way) << text;
    EXPECT_EQ(known_decoding(element).decoding.way, way) << text << " again";
  };
  for (const char* text : kPosits) expect_way(text, DecodeWay::posits);
  for (const char* text : kFloats) expect_way(text, DecodeWay::floats);
  for (const char* text : {"bf16", "e5m10fnuz", "p3109(16,9)"}) expect_way(text, DecodeWay::floats);
  for (const char* text : {"int16", "uint12", "fixed(16,8)", "fixed(10,3)"}) {
    expect_way(text, DecodeWay::grids);
  }
  expect_way("posit(32,2)", DecodeWay::definition);
}

// More elements than are remembered, twice.
TEST(CodeArithmetic, RemembersValuesOfNarrowCodes) {
  for (int turn = 0; turn < 2; ++turn) {
    for (const char* text : {"e4m3", "e5m2", "p3109(8,3)", "e4m3fnuz", "posit(8,1)", "int8", "e2m1",
                             "uint4", "codebook(nf4)", "codebook([-1,0,1])"}) {
      const Element element = parse_format(text).element;
      const ElementInfo info = describe(element);
      const KnownDecoding& known = known_decoding(element);
      const std::vector<float>& values = CodeMap::of(element)->values();
      ASSERT_EQ(known.values.size(), std::size_t{1} << info.code_bits) << text;
      EXPECT_EQ(known.has_nan, info.has_nan || values.size() < known.values.size()) << text;
      for (std::size_t code = 0; code < known.values.size(); ++code) {
        const float expected =
            code < values.size() ? values[code] : std::numeric_limits<float>::quiet_NaN();
        EXPECT_EQ(std::bit_cast<std::uint32_t>(known.values[code]),
                  std::bit_cast<std::uint32_t>(expected))
            << text << " " << code;
      }
      const bool is_table = std::holds_alternative<CodebookElement>(element);
      EXPECT_EQ(known.decoding.way == DecodeWay::table, is_table) << text;
    }
  }
}

// Arithmetic that misses one value of one code is not used.
TEST(CodeArithmetic, IsComparedWithEveryValue) {
  const Element element = parse_format("posit(16,2)").element;
  std::vector<float> values = CodeMap::of(element)->values();
  EXPECT_EQ(decoding_of(element, 16, values).way, DecodeWay::posits);
  values[54321] = std::nextafter(values[54321], 0.0F);
  EXPECT_EQ(decoding_of(element, 16, values).way, DecodeWay::definition);
}

EncodeJob encode_job(const Format& format) {
  RoundJob job;
  job.encodes = true;
  job.plan = RoundProgram::remembered(format, 0, {}, Overflow::native)->plan();
  job.codes.bits = describe(format.element).code_bits;
  if (const auto* posit = std::get_if<PositElement>(&format.element)) job.posit = *posit;
  return make_encode_job(job).value();
}

// Every number with a code, the ties between neighbours, and what lies next to all of them.
template <class Code>
void expect_the_definitions_codes(const std::string& text, const Code& code_of) {
  const Element element = parse_format(text).element;
  const std::vector<float>& values = CodeMap::of(element)->values();
  int wrong = 0;
  const auto check = [&](float x) {
    const std::uint32_t expected = encode_value(element, round_to(element, double{x}, {}));
    if (code_of(x) != expected && ++wrong < 5) {
      ADD_FAILURE() << text << " " << std::hexfloat << x << ": " << std::hex << code_of(x)
                    << ", expected " << expected;
    }
  };
  for (std::size_t code = 0; code + 1 < values.size(); ++code) {
    if (!std::isfinite(values[code])) continue;
    check(values[code]);
    const double next = double{values[code + 1]};
    if (!std::isfinite(next) || code % 3 != 0) continue;
    const auto tie = static_cast<float>((double{values[code]} + next) / 2);
    for (const float x : {tie, std::nextafter(tie, 0.0F), std::nextafter(tie, 2 * tie)}) check(x);
    // Where exponent bits are cut, ties are between powers: geometric.
    const double mean = std::sqrt(std::fabs(double{values[code]} * next));
    check(std::copysign(static_cast<float>(mean), tie));
  }
  for (const float x : {0x1p-149F, 0x1p-126F, 0x1.fffffep127F, -0x1.fffffep127F, -1e-30F}) check(x);
}

TEST(CodeArithmetic, EncodesWidePosits) {
  for (const char* text : kPosits) {
    const PositCoding p = encode_job(parse_format(text)).posit;
    const int bits = describe(parse_format(text).element).code_bits;
    expect_the_definitions_codes(text, [&](float x) -> std::uint32_t {
      if (x == 0) return 0;
      const std::uint32_t pattern = std::bit_cast<std::uint32_t>(x);
      const std::uint32_t doubled = doubled_log(pattern);
      const std::uint32_t last = (1U << bits) - 1;
      return (counted(p, pattern, doubled) & last) ^ (~doubled >> 31) << (bits - 1);
    });
  }
}

// One float in each field of a word, the last of which is asked for.
TEST(CodeArithmetic, EncodesFloats) {
  const auto check = [](const char* text) {
    const FloatCoding p = encode_job(parse_format(text)).floating;
    const int bits = describe(parse_format(text).element).code_bits;
    const int width = bits <= 8 ? 8 : 16;
    const std::uint32_t each = bits <= 8 ? 0x01010101U : 0x00010001U;
    expect_the_definitions_codes(text, [&](float x) -> std::uint32_t {
      const std::uint32_t count = counted(p, x).count & 0xFFFFFFFFU >> (32 - width);
      const std::uint32_t top = std::bit_cast<std::uint32_t>(x) >> (32 - width);
      const std::uint32_t word = signed_codes(p, each * count, each * top);
      const std::uint32_t code = word >> (32 - width);
      EXPECT_EQ(word, each * code);
      return code;
    });
  };
  for (const char* text : kFloats) check(text);
  for (const char* text : kFloatsWithoutMinusZero) check(text);
  for (const char* text : {"e4m3", "e5m2", "e2m1", "e3m2"}) check(text);
}

TEST(CodeArithmetic, EncodesFloatsOfAllExponents) {
  for (const char* text : {"bf16", "e8m3", "e8m1"}) {
    const UpperBitsCoding p = encode_job(parse_format(text)).upper_bits;
    EXPECT_NE(p.shift, 0U) << text;
    expect_the_definitions_codes(
        text, [&](float x) { return upper_bits(p, std::bit_cast<std::uint32_t>(x)); });
  }
}

// The only codes that arithmetic leaves to a table of values.
TEST(CodeArithmetic, DecodesFloatsWithoutMinusZero) {
  for (const char* text : kFloatsWithoutMinusZero) {
    const Element element = parse_format(text).element;
    const int bits = describe(element).code_bits;
    const Decoding d = decoding_of(element, bits, CodeMap::of(element)->values());
    EXPECT_EQ(d.way, DecodeWay::floats) << text;
    EXPECT_EQ(d.floating.lone_signs, bits <= 8 ? 0x80808080U : 0x80008000U) << text;
  }
  const Element e4m3 = parse_format("e4m3").element;
  EXPECT_EQ(decoding_of(e4m3, 8, CodeMap::of(e4m3)->values()).floating.lone_signs, 0U);
}

std::uint32_t count_of(const EvenCells& cells, float x) {
  const std::uint32_t slot = slot_bytes(cells.factor, cells.addend, x);
  return in_slot(cells.before, slot) + (in_slot(cells.thresholds, slot) <= x ? 1U : 0U);
}

// Counting by slots equals counting, at every threshold, next to it and far away.
TEST(CodeArithmetic, CountsThresholdsBySlots) {
  for (const char* text : {"codebook(nf4)", "codebook([-1,0,1])", "codebook([0.25,0.5])",
                           "codebook([-8,-7,-6,-5,-4,-3,-2,-1,0,1,2,3,4,5,6,7])"}) {
    for (const char* rounding : {"nearest-even", "toward-zero", "stochastic"}) {
      const Format format = parse_format(text);
      const auto program =
          RoundProgram::remembered(format, 0, parse_rounding(rounding), Overflow::native);
      const std::span<const float> thresholds(program->plan().table.thresholds, kSmallTable);
      const EvenCells cells = even_cells(thresholds);
      const auto first_of_padding =
          std::ranges::find_if(thresholds, [](float t) { return std::isnan(t); });
      EXPECT_EQ(cells.serves, first_of_padding != thresholds.begin()) << text << rounding;
      if (!cells.serves) continue;
      const auto check = [&](float x) {
        const auto expected = std::ranges::count_if(thresholds, [=](float t) { return t <= x; });
        EXPECT_EQ(count_of(cells, x), expected) << text << " " << rounding << " " << x;
      };
      for (const float t : thresholds) {
        for (const float x : {t, std::nextafter(t, -100.0F), std::nextafter(t, 100.0F)}) check(x);
      }
      for (int i = -2000; i <= 2000; ++i) check(static_cast<float>(i) * 0x1.03p-8F);
      constexpr float kInfinity = std::numeric_limits<float>::infinity();
      for (const float x : {0.0F, -0.0F, 3e38F, -3e38F, kInfinity, -kInfinity}) check(x);
    }
  }
}

// Codes under a scale from x·(1/s), but for what is too near to a threshold: those of fl32(x / s),
// although fl32(1/s) is an ulp wrong.
TEST(CodeArithmetic, GuessesQuotientsOfCodebooks) {
  for (const char* text :
       {"nf4", "codebook([-8,-7,-6,-5,-4,-3,-2,-1,0.25,1,2,3,4,5,6,7],scale=absmax)"}) {
    const Format format = parse_format(text);
    const auto program = RoundProgram::remembered(format, 0, {}, Overflow::native);
    const std::span<const float> padded(program->plan().table.thresholds, kSmallTable);
    const EvenCells cells = even_cells(padded);
    ASSERT_TRUE(cells.serves && cells.unsure > 0) << text;
    int left = 0;
    const auto check = [&](float scale, float x) {
      for (const float inverse :
           {1 / scale, std::nextafter(1 / scale, 0.0F), std::nextafter(1 / scale, 2 / scale)}) {
        const float y = x * inverse;
        const float threshold =
            in_slot(cells.thresholds, slot_bytes(cells.factor, cells.addend, y));
        const bool is_near = std::fabs(y - threshold) <= cells.unsure;
        left += is_near ? 1 : 0;
        if (!is_near) {
          EXPECT_EQ(count_of(cells, y), count_of(cells, x / scale))
              << text << " " << std::hexfloat << x << " / " << scale;
        }
      }
    };
    constexpr std::uint64_t kScales = 500;
    for (std::uint64_t i = 0; i < kScales; ++i) {
      const float scale = std::ldexp(1 + static_cast<float>(draw32({.seed = 6}, i)) * 0x1p-32F,
                                     static_cast<int>(i % 60) - 30);
      for (const float t : padded) {
        if (std::isnan(t)) break;
        float x = t * scale;
        for (int step = 0; step < 40; ++step) x = std::nextafter(x, -100 * scale);
        for (int step = -40; step < 40; ++step) check(scale, x = std::nextafter(x, 100 * scale));
        check(scale, t * scale * (1 + 0x1p-12F));
      }
    }
    // Next to thresholds alone.
    EXPECT_GT(left, 0) << text;
    EXPECT_LT(left, static_cast<int>(3 * kScales * 16 * 41)) << text;
  }
}

// A threshold on the border of two slots: a guess may be in the other one.
TEST(CodeArithmetic, GuessesNothingBetweenSlots) {
  std::vector<float> symmetric(kSmallTable, std::numeric_limits<float>::quiet_NaN());
  symmetric[0] = -1, symmetric[1] = 0, symmetric[2] = 1;
  EXPECT_TRUE(even_cells(symmetric).serves);
  EXPECT_LT(even_cells(symmetric).unsure, 0);
}

// What QuickTable does with one number, or nothing where it leaves it to the definition.
template <bool kShort>
std::optional<float> drawn_value(const TablePlan& table, float undecided, float scale, float x,
                                 std::uint32_t draw) {
  const EvenCells cells = even_cells({table.thresholds, kSmallTable});
  const float y = x / scale;
  const std::uint32_t cell = count_of(cells, y);
  const float inverse_width = table.inverse_width[cell] * kMarginUnits;
  // As aligned_draws has it.
  const std::uint32_t aligned = kShort ? 0xFFFFU - draw : draw;
  const float margin = draw_margin<kShort>(y - table.toward[cell], inverse_width, aligned);
  if (!(std::fabs(margin) >= undecided)) return std::nullopt;
  return (margin >= 0 ? table.away : table.toward)[cell] * scale;
}

template <bool kShort>
void expect_the_definitions_draws(const char* text) {
  const Format format = parse_format(text);
  const Rounding rounding = parse_rounding(kShort ? "stochastic(16)" : "stochastic");
  const auto program = RoundProgram::remembered(format, 0, rounding, Overflow::native);
  const std::vector<float>& entries = std::get<CodebookElement>(format.element).values;
  const float undecided = undecided_margin(entries);
  const std::uint32_t last = kShort ? 0xFFFFU : 0xFFFFFFFFU;
  int left = 0;
  const auto check = [&](float scale, float x, std::uint32_t draw) {
    const auto value = drawn_value<kShort>(program->plan().table, undecided, scale, x, draw);
    left += value ? 0 : 1;
    if (!value) return;
    const GroupScale group{.scale = scale};
    const double expected =
        round_scaled(format, group, double{x}, rounding, Overflow::native, draw).value;
    EXPECT_EQ(double{*value}, expected) << text << " " << std::hexfloat << x << " " << draw;
  };
  constexpr std::uint64_t kNumbers = 20000;
  for (std::uint64_t i = 0; i < kNumbers; ++i) {
    const float scale = 0.5F + static_cast<float>(draw32({.seed = 1}, i)) * 0x1p-30F;
    const std::uint32_t draw = draw32({.seed = 2}, i) & last;
    const float x = (static_cast<float>(draw32({.seed = 3}, i)) * 0x1p-31F - 1) * scale;
    check(scale, x, draw);
    // Entries stay, and their neighbours are not taken for them.
    const float entry = entries[i % entries.size()] * scale;
    for (const std::uint32_t d : {draw, 0U, last}) {
      check(scale, entry, d);
      check(scale, std::nextafter(entry, 2 * entry), d);
      check(scale, std::nextafter(entry, 0.0F), d);
    }
  }
  // Of draws by chance next to none; of the last and the first next to entries all.
  EXPECT_LT(left, 7 * kNumbers);
}

TEST(CodeArithmetic, DrawsBetweenEntries) {
  expect_the_definitions_draws<true>("nf4");
  expect_the_definitions_draws<false>("nf4");
  expect_the_definitions_draws<true>(
      "codebook([-8,-7,-6,-5,-4,-3,-2,-1,0,1,2,3,4,5,6,7],scale=absmax)");
}

// Powers of two need more slots than there are.
TEST(CodeArithmetic, SearchesThresholdsThatAreTooNear) {
  std::vector<float> powers(kSmallTable, std::numeric_limits<float>::quiet_NaN());
  for (int i = 0; i < 10; ++i) powers[static_cast<std::size_t>(i)] = std::ldexp(1.0F, i - 9);
  EXPECT_FALSE(even_cells(powers).serves);
  EXPECT_FALSE(even_cells(std::span(powers).subspan(12)).serves);
}

}  // namespace
}  // namespace nibble::cuda
