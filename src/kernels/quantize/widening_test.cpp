// SPDX-License-Identifier: Apache-2.0
// fp16 and bf16 tensors in and out of quantize.
#include "kernels/quantize/widening.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "core/half.h"
#include "core/isa.h"
#include "kernels/quantize/test_compare.h"
#include "nibble/core/error.h"
#include "nibble/kernels/quantize.h"

namespace nibble::inline kernels {
namespace {

std::span<std::uint16_t> halves_of(Tensor& tensor) {
  return {reinterpret_cast<std::uint16_t*>(tensor.data()),
          static_cast<std::size_t>(tensor.elements())};
}

Tensor all_patterns(DType type) {
  Tensor tensor(type, {256, 256});
  for (std::size_t i = 0; i < 65536; ++i) halves_of(tensor)[i] = static_cast<std::uint16_t>(i);
  return tensor;
}

float widened(DType type, std::uint16_t half) {
  return type == DType::f16 ? float_from_half(half) : float_from_bfloat(half);
}
std::uint16_t narrowed(DType type, float value) {
  return type == DType::f16 ? half_from_float(value) : bfloat_from_float(value);
}

TEST(Widening, Fp32IsItsOwn) {
  const std::vector<float> values = {1, 2};
  Tensor storage;
  EXPECT_EQ(as_floats(shaped(values, {2}), storage).data(), values.data());
}

TEST(Widening, EveryPatternIsConverted) {
  for (const Isa isa : supported_isas()) {
    set_isa(isa);
    for (const DType type : {DType::f16, DType::bf16}) {
      Tensor halves = all_patterns(type);
      Tensor storage;
      const std::span<const float> floats = as_floats(halves.view(), storage);
      ASSERT_EQ(floats.size(), 65536U);
      for (std::size_t i = 0; i < 65536; ++i) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(floats[i]),
                  std::bit_cast<std::uint32_t>(widened(type, static_cast<std::uint16_t>(i))))
            << name_of(isa);
      }
    }
  }
  reset_isa();
}

// All upper halves with the lower ones around a tie, NaN and subnormals among them; any length.
TEST(Widening, NarrowingIsTheScalarOne) {
  std::vector<float> values;
  for (std::uint32_t upper = 0; upper < 65536; ++upper) {
    for (const std::uint32_t lower : {0U, 1U, 0x0FFFU, 0x1000U, 0x1001U, 0x7FFFU, 0x8000U, 0x8001U,
                                      0x9000U, 0xEFFFU, 0xF000U, 0xF001U, 0xFFFFU}) {
      values.push_back(std::bit_cast<float>(upper << 16 | lower));
    }
  }
  for (const Isa isa : supported_isas()) {
    set_isa(isa);
    for (const DType type : {DType::f16, DType::bf16}) {
      for (const std::size_t count : {values.size(), std::size_t{1}, std::size_t{15}}) {
        Tensor halves(type, {static_cast<std::int64_t>(count)});
        narrow_floats(std::span(values).last(count), halves.view());
        for (std::size_t i = 0; i < count; ++i) {
          const float value = values[values.size() - count + i];
          ASSERT_EQ(halves_of(halves)[i], narrowed(type, value)) << name_of(isa) << " " << value;
        }
      }
    }
  }
  reset_isa();
}

TEST(Widening, NarrowingRoundsToNearestEven) {
  Tensor halves(DType::f16, {4});
  const std::vector<float> values = {1.0F + 0x1p-11F, 1.0F + 0x1.8p-10F, 65520.0F, -0.0F};
  narrow_floats(values, halves.view());
  EXPECT_EQ(halves_of(halves)[0], 0x3C00);
  EXPECT_EQ(halves_of(halves)[1], 0x3C02);
  EXPECT_EQ(halves_of(halves)[2], 0x7C00);
  EXPECT_EQ(halves_of(halves)[3], 0x8000);
}

TEST(Widening, OtherTypesAreRefused) {
  Tensor storage;
  for (const DType type : {DType::f64, DType::i8, DType::u16, DType::i32}) {
    const Tensor tensor(type, {2});
    EXPECT_THROW(as_floats(tensor.view(), storage), Error) << name_of(type);
  }
}

TEST(Widening, QuantizeTakesHalvesAndGivesThemOrFp32) {
  for (const DType type : {DType::f16, DType::bf16}) {
    for (const char* text : {"e4m3", "mxfp8", "fixed(8,4)", "posit(8,1)", "nf4"}) {
      const Format format = parse_format(text);
      const QuantizeOptions options{.rounding = {RoundingMode::stochastic}};
      Tensor halves = all_patterns(type);
      std::vector<float> floats(65536);
      for (std::size_t i = 0; i < floats.size(); ++i)
        floats[i] = widened(type, halves_of(halves)[i]);
      const std::vector<float> expected = quantized(floats, halves.shape(), format, options);

      std::vector<float> wide(65536);
      quantize(halves.view(), shaped(wide, halves.shape()), format, options);
      expect_same(floats, wide, expected, text);

      quantize(halves.view(), halves.view(), format, options);  // in place
      for (std::size_t i = 0; i < floats.size(); ++i) {
        ASSERT_EQ(halves_of(halves)[i], narrowed(type, expected[i])) << text << " of " << floats[i];
      }
    }
  }
}

TEST(Widening, AResultThatFp16CannotHoldIsRoundedToIt) {
  Tensor halves(DType::f16, {1});
  halves_of(halves)[0] = half_from_float(60000);
  quantize(halves.view(), halves.view(), parse_format("fixed(8,-13)"),
           {.rounding = {RoundingMode::up}});
  EXPECT_EQ(halves_of(halves)[0], 0x7C00);  // 8 steps of 8192
}

TEST(Widening, EncodeTakesHalvesToo) {
  Tensor halves(DType::bf16, {2});
  halves_of(halves)[0] = bfloat_from_float(1);
  halves_of(halves)[1] = bfloat_from_float(-6);
  const Encoded encoded = encode(halves.view(), parse_format("e2m1"));
  EXPECT_EQ(encoded.codes.as<std::uint8_t>()[0], 0x2);
  EXPECT_EQ(encoded.codes.as<std::uint8_t>()[1], 0xF);
}

}  // namespace
}  // namespace nibble::inline kernels
