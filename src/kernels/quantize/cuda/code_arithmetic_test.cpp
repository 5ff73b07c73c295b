// SPDX-License-Identifier: Apache-2.0
// What the kernels of a GPU compute of codes, computed on the CPU: every code of 9 to 16 bits.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kernels/quantize/code_map.h"
#include "kernels/quantize/cuda/decoding.h"
#include "kernels/quantize/cuda/encode.h"
#include "nibble/numerics/format.h"

namespace nibble::cuda {
namespace {

constexpr const char* kPosits[] = {"posit(16,2)", "posit(16,1)", "posit(16,0)", "posit(12,1)",
                                   "posit(9,2)"};
constexpr const char* kFloats[] = {"fp16", "e6m9", "e4m11", "e3m6"};

TEST(CodeArithmetic, DecodesWideCodes) {
  const auto expect_way = [](const std::string& text, DecodeWay way) {
    const Element element = parse_format(text).element;
    EXPECT_EQ(wide_decoding(element).way, way) << text;
    EXPECT_EQ(wide_decoding(element).way, way) << text << " again";
  };
  for (const char* text : kPosits) expect_way(text, DecodeWay::posits);
  for (const char* text : kFloats) expect_way(text, DecodeWay::floats);
  for (const char* text : {"bf16", "e5m10fnuz"}) {
    expect_way(text, text[0] == 'b' ? DecodeWay::floats : DecodeWay::definition);
  }
  for (const char* text : {"int16", "uint12", "fixed(16,8)", "fixed(10,3)"}) {
    expect_way(text, DecodeWay::grids);
  }
  expect_way("posit(32,2)", DecodeWay::definition);
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

TEST(CodeArithmetic, EncodesWideFloats) {
  for (const char* text : kFloats) {
    const FloatCoding p = encode_job(parse_format(text)).floating;
    const int bits = describe(parse_format(text).element).code_bits;
    expect_the_definitions_codes(text, [&](float x) -> std::uint32_t {
      const std::uint32_t sign = std::bit_cast<std::uint32_t>(x) >> 31;
      return (counted(p, x).count & ((1U << (bits - 1)) - 1)) | sign << (bits - 1);
    });
  }
}

}  // namespace
}  // namespace nibble::cuda
