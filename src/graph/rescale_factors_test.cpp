// SPDX-License-Identifier: Apache-2.0
#include "graph/rescale_factors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "core/test_support.h"

namespace nibble::inline graph {
namespace {

using testing::ElementsAre;

RescaleFactors of(std::initializer_list<double> factors, int bits = 31) {
  return rescale_factors(std::span(factors.begin(), factors.size()), bits);
}

TEST(RescaleFactors, UseAllBitsOfTheLargest) {
  const RescaleFactors half = of({0.5, 0.25});
  EXPECT_EQ(half.shift, 31);
  EXPECT_THAT(half.multipliers, ElementsAre(1 << 30, 1 << 29));
  EXPECT_THAT(of({1000.0}, 16).multipliers, ElementsAre(64000));
  EXPECT_EQ(of({1000.0}, 16).shift, 6);
}

TEST(RescaleFactors, OneThatWouldRoundUpToTheLimitHasAShiftLess) {
  const double nearly_one = 1 - std::ldexp(1.0, -40);
  EXPECT_THAT(of({nearly_one}).multipliers, ElementsAre(1 << 30));
  EXPECT_EQ(of({nearly_one}).shift, 30);
}

TEST(RescaleFactors, TinyAndZeroFactors) {
  EXPECT_EQ(of({std::ldexp(1.0, -60)}).shift, 62);
  EXPECT_THAT(of({std::ldexp(1.0, -60)}).multipliers, ElementsAre(4));
  EXPECT_THAT(of({0.0, 0.0}).multipliers, ElementsAre(0, 0));
}

TEST(RescaleFactors, AreNormalizedAsCmsisHasThem) {
  // 0.75 = 0.75·2^0: Q31 of 0.75.
  EXPECT_EQ(normalized_factor(3, 2), (NormalizedFactor{0x60000000, 0}));
  EXPECT_EQ(normalized_factor(1, 0), (NormalizedFactor{1 << 30, 1}));
  EXPECT_EQ(normalized_factor(1 << 30, 40), (NormalizedFactor{1 << 30, -9}));
  EXPECT_EQ(normalized_factor(INT32_MAX, 62), (NormalizedFactor{INT32_MAX, -31}));
  EXPECT_EQ(normalized_factor(0, 5), NormalizedFactor{});
}

TEST(RescaleFactors, RefusesWhatIsNoFactor) {
  for (const double bad : {-1.0, std::ldexp(1.0, 31), double{INFINITY}, std::nan("")}) {
    EXPECT_THAT(error_of([&] { of({bad}); }), testing::HasSubstr("expected 0 to 2^31"));
  }
}

TEST(U16Factors, HaveNvidiasShifts) {
  const auto found = [](std::vector<double> factors) { return u16_factors(factors); };
  EXPECT_EQ(found({1.0 / 18}).shift, 16);
  EXPECT_EQ(found({1.0 / 18}).multipliers, (std::vector<std::int32_t>{3641}));  // as in its model
  EXPECT_EQ(found({0.25, 0.999999999}).shift, 10);  // 65,536 would be too large
  EXPECT_EQ(found({0.99999, 0}).multipliers, (std::vector<std::int32_t>{65535, 0}));
  EXPECT_EQ(found({63.9}).shift, 10);
  EXPECT_EQ(found({64, 1}).multipliers, (std::vector<std::int32_t>{1024, 16}));
  EXPECT_EQ(found({4096}).shift, 1);
  EXPECT_EQ(found({32767.9}).shift, 0);
  EXPECT_EQ(found({1e9, 1}).multipliers, (std::vector<std::int32_t>{65535, 1}));
  EXPECT_EQ(found({0}).shift, 16);
  EXPECT_THROW(found({-1}), Error);
  EXPECT_THROW(found({std::nan("")}), Error);
}

}  // namespace
}  // namespace nibble::inline graph
