// SPDX-License-Identifier: Apache-2.0
// What arrives of a tensor that crosses.
#include "float_training/wire_parcel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace nibble::inline float_training {
namespace {

constexpr RandomKey kDraws = {.seed = 7, .stream = 3, .step = 2};

std::vector<float> some_numbers() {
  std::vector<float> numbers;
  for (int i = 0; i < 1000; ++i)
    numbers.push_back(std::ldexp(static_cast<float>(draw32({.seed = 1}, i)) - 0x1p31F, -31));
  return numbers;
}

std::vector<float> arrived(const WireParcel& parcel, std::size_t count) {
  std::vector<float> values(count);
  unpack(parcel, values);
  return values;
}

std::vector<float> rounded(std::vector<float> numbers, const char* format,
                           const QuantizeOptions& options = {}) {
  const TensorView view = view_of(std::span(numbers));
  quantize(view, view, parse_format(format), options);
  return numbers;
}

TEST(WireParcel, RoundsAsTheFormatsDo) {
  const std::vector<float> numbers = some_numbers();
  const auto crossed = [&](WireFormat wire) { return arrived(pack(numbers, wire), 1000); };
  EXPECT_EQ(crossed(WireFormat::fp32), numbers);
  EXPECT_EQ(crossed(WireFormat::fp16), rounded(numbers, "fp16"));
  EXPECT_EQ(crossed(WireFormat::bf16), rounded(numbers, "bf16"));
  EXPECT_EQ(crossed(WireFormat::int8), rounded(numbers, "bfp(8)"));
  EXPECT_NE(crossed(WireFormat::int8), numbers);
}

TEST(WireParcel, DrawsDecideInInt8Alone) {
  const std::vector<float> numbers = some_numbers();
  const QuantizeOptions stochastic{.rounding = parse_rounding("stochastic"), .random = kDraws};
  EXPECT_EQ(arrived(pack(numbers, WireFormat::int8, kDraws), 1000),
            rounded(numbers, "bfp(8)", stochastic));
  EXPECT_NE(rounded(numbers, "bfp(8)", stochastic), rounded(numbers, "bfp(8)"));
  EXPECT_EQ(arrived(pack(numbers, WireFormat::fp16, kDraws), 1000), rounded(numbers, "fp16"));
}

TEST(WireParcel, HasAsManyBytesAsTheFormatSays) {
  const std::vector<float> numbers = some_numbers();
  EXPECT_EQ(pack(numbers, WireFormat::fp32).bytes(), 4000);
  EXPECT_EQ(pack(numbers, WireFormat::fp16).bytes(), 2000);
  EXPECT_EQ(pack(numbers, WireFormat::bf16).bytes(), 2000);
  EXPECT_EQ(pack(numbers, WireFormat::int8).bytes(), 1000 + 4);  // and the power of two
}

TEST(WireParcel, WhatIsNotFiniteIsNotHidden) {
  for (const float wrong :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> numbers = some_numbers();
    numbers[500] = wrong;
    for (const WireFormat wire :
         {WireFormat::fp32, WireFormat::fp16, WireFormat::bf16, WireFormat::int8}) {
      EXPECT_FALSE(std::isfinite(arrived(pack(numbers, wire), 1000)[500])) << name_of(wire);
    }
  }
  const std::vector<float> large = {1e6F};  // an error that fp16 cannot hold
  EXPECT_FALSE(std::isfinite(arrived(pack(large, WireFormat::fp16), 1)[0]));
}

}  // namespace
}  // namespace nibble::inline float_training
