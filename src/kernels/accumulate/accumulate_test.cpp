// SPDX-License-Identifier: Apache-2.0
// Tests of the simulated accumulator against sums worked out by hand.
#include "nibble/kernels/accumulate.h"

#include "kernels/accumulate/accumulate_test_support.h"
#include "nibble/core/error.h"

namespace nibble::inline kernels::accumulation {
namespace {

TEST_F(Accumulate, AHalfStopsCountingAt2048UnlessItCountsInPairs) {
  const std::vector<float> ones(4096, 1.0F);
  EXPECT_EQ(dot(ones, ones, accumulator("fp16")), 2048);
  EXPECT_EQ(dot(ones, ones, accumulator("fp16", {SumMethod::separate, SumOrder::pairwise})), 4096);
  EXPECT_EQ(dot(ones, ones, accumulator("fp16", {SumMethod::kahan})), 4096);
  EXPECT_EQ(dot(ones, ones, accumulator("fp16", {SumMethod::quire})), 4096);
  Accumulator chunks = accumulator("fp16");
  chunks.chunk = 64;
  EXPECT_EQ(dot(ones, ones, chunks), 4096);
}

TEST_F(Accumulate, StochasticRoundingCountsOnInTheMean) {
  const std::vector<float> ones(4096, 1.0F);
  Accumulator rules = accumulator("fp16");
  rules.rounding = {RoundingMode::stochastic, 16};
  const float counted = dot(ones, ones, rules);
  EXPECT_NE(counted, 4096);
  EXPECT_NEAR(counted, 4096, 200);  // the deviation of 2048 draws of 0 or 2 is 45
}

// 1.0625² = 1.12890625 = 1 + 2·2^-4 + 2^-8: with 4 mantissa bits the product is 1.125, 1.125
// - 1.125 = 0.
TEST_F(Accumulate, FusingKeepsWhatRoundingTheProductLoses) {
  const std::vector<float> a = {-1.125F, 1.0625F};
  const std::vector<float> b = {1.0F, 1.0625F};
  EXPECT_EQ(dot(a, b, accumulator("e5m4")), 0.0F);
  EXPECT_EQ(dot(a, b, accumulator("e5m4", {SumMethod::fused})), 0.00390625F);
}

// The exact sum lies 2^-60 above the middle of 1 and its successor; the nearest double is the
// middle.
TEST_F(Accumulate, AFusedSumIsRoundedFromTheExactValue) {
  const float half_place = 0x1p-24F;
  Accumulator rules = accumulator("fp32", {SumMethod::fused});
  EXPECT_EQ(dot({0x1p-60F, 1.0F + 0x1p-12F}, {1.0F, 1.0F + 0x1p-12F}, rules),
            1.0F + 0x1p-11F + 0x1p-23F);
  EXPECT_EQ(dot({0.0F, 1.0F + 0x1p-12F}, {1.0F, 1.0F + 0x1p-12F}, rules), 1.0F + 0x1p-11F);
  EXPECT_EQ(dot({1.0F, half_place}, {1.0F, 1.0F}, rules), 1.0F);
}

// Products of fp32 can be midpoints of bf16; what little the sum holds decides.
TEST_F(Accumulate, ATinySumDecidesWhereTheProductIsAMidpoint) {
  Accumulator rules = accumulator("bf16");
  rules.product_format = parse_format("fp32");
  EXPECT_EQ(dot({0x1p-70F, 1.0F + 0x1p-8F}, {1.0F, 1.0F}, rules), 1.0F + 0x1p-7F);
  EXPECT_EQ(dot({-0x1p-70F, 1.0F + 0x1p-8F}, {1.0F, 1.0F}, rules), 1.0F);
  EXPECT_EQ(dot({-0x1p-70F, 1.0F + 0x1.8p-7F}, {1.0F, 1.0F}, rules), 1.0F + 0x1p-7F);
}

TEST_F(Accumulate, CompensationRecoversWhatSmallTermsLose) {
  std::vector<float> terms(1025, 0x1p-12F);  // each below half a place of 1 in fp16
  terms[0] = 1.0F;
  const std::vector<float> ones(terms.size(), 1.0F);
  EXPECT_EQ(dot(terms, ones, accumulator("fp16")), 1.0F);
  EXPECT_EQ(dot(terms, ones, accumulator("fp16", {SumMethod::kahan})), 1.25F);
}

TEST_F(Accumulate, AQuireForgetsNothing) {
  const std::vector<float> ones = {1.0F, 1.0F, 1.0F};
  EXPECT_EQ(dot({1e30F, 1.0F, -1e30F}, ones, accumulator("fp32", {SumMethod::quire})), 1.0F);
  EXPECT_EQ(dot({1e30F, 1.0F, -1e30F}, ones, accumulator("fp32")), 0.0F);
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(dot({1e30F, infinity, 1.0F}, ones, accumulator("fp32", {SumMethod::quire})), infinity);
  EXPECT_TRUE(
      std::isnan(dot({-infinity, infinity, 1.0F}, ones, accumulator("fp32", {SumMethod::quire}))));
}

TEST_F(Accumulate, InfinitiesAndOverflowFollowIeeeArithmeticAndTheOverflowRule) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> ones = {1.0F, 1.0F, 1.0F};
  Accumulator rules = accumulator("fp16");
  EXPECT_EQ(dot({65504.0F, 65504.0F, 1.0F}, ones, rules), infinity);
  EXPECT_EQ(dot({65504.0F, 15.0F, 0.0F}, ones, rules), 65504.0F);
  EXPECT_EQ(dot({65504.0F, 16.0F, 0.0F}, ones, rules), infinity);
  EXPECT_TRUE(std::isnan(dot({infinity, 1.0F, -infinity}, ones, rules)));
  EXPECT_EQ(dot({infinity, 0.0F, 1.0F}, ones, rules), infinity);
  EXPECT_TRUE(std::isnan(dot({infinity, 0.0F, 1.0F}, {0.0F, 1.0F, 1.0F}, rules)));
  rules.overflow = Overflow::saturate;
  EXPECT_EQ(dot({65504.0F, 65504.0F, -32.0F}, ones, rules), 65472.0F);
  rules.overflow = Overflow::nan;
  EXPECT_TRUE(std::isnan(dot({65504.0F, 65504.0F, 1.0F}, ones, rules)));
  EXPECT_EQ(dot({300.0F, 300.0F, 1.0F}, ones, accumulator("e4m3")), 448.0F);
}

TEST_F(Accumulate, TheSumOfNothingIsZeroAndANaNHasOnePattern) {
  EXPECT_EQ(std::bit_cast<std::uint32_t>(dot({}, {}, accumulator("fp16"))), 0U);
  const float nan = std::bit_cast<float>(0xFFC12345U);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(dot({nan}, {1.0F}, accumulator("fp16"))), 0x7FC00000U);
}

TEST_F(Accumulate, DrawsAreNumberedByOutputThenByRounding) {
  // 1 + 2^-11 lies in the middle of a cell of fp16: one random bit moves it up where it is 0.
  Matrix a(2, 1, {1.0F, 1.0F});
  Matrix b(1, 2, {1.0F + 0x1p-11F, 1.0F + 0x1p-11F});
  Accumulator rules = accumulator("fp16");
  rules.rounding = {RoundingMode::stochastic, 1};
  for (std::uint32_t step = 0; step < 20; ++step) {
    rules.random.step = step;
    const std::vector<float> c = by_definition(a, b, rules);
    for (std::uint64_t output = 0; output < 4; ++output) {
      const bool goes_up = draw16(rules.random, 8 * output) >> 15 == 0;
      EXPECT_EQ(c[output], goes_up ? 1.0F + 0x1p-10F : 1.0F);
    }
  }
}

TEST_F(Accumulate, ASumToOddKeepsTheSideOfEveryShorterNumber) {
  const double sum = sum_to_odd(1.0, 0x1p-60);
  EXPECT_EQ(sum, 1.0 + 0x1p-52);
  EXPECT_EQ(sum_to_odd(1.0, -0x1p-60), 1.0 - 0x1p-53);
  EXPECT_EQ(sum_to_odd(-1.0, 0x1p-60), -1.0 + 0x1p-53);
  EXPECT_EQ(sum_to_odd(1.0 + 0x1p-52, 0x1p-60), 1.0 + 0x1p-52);
  EXPECT_EQ(sum_to_odd(1.0, 0x1p-50), 1.0 + 0x1p-50);
  EXPECT_FALSE(std::signbit(sum_to_odd(1.0, -1.0)));
}

TEST_F(Accumulate, WrongArgumentsAreRefused) {
  Matrix a(2, 3);
  Matrix b(3, 4);
  Matrix c(2, 4);
  const auto run = [&](Matrix& x, Matrix& y, Matrix& z, const Accumulator& rules) {
    matmul(x.tensor().view(), y.tensor().view(), z.tensor().view(), rules);
  };
  const Accumulator good = accumulator("fp16");
  EXPECT_NO_THROW(run(a, b, c, good));
  EXPECT_THROW(run(a, c, c, good), Error);
  EXPECT_THROW(run(a, b, b, good), Error);
  Matrix square(3, 3);
  EXPECT_THROW(run(square, square, square, good), Error);
  Tensor line(DType::f32, {3});
  EXPECT_THROW(matmul(a.tensor().view(), line.view(), c.tensor().view(), good), Error);
  Tensor doubles(DType::f64, {3, 4});
  EXPECT_THROW(matmul(a.tensor().view(), doubles.view(), c.tensor().view(), good), Error);

  Accumulator bad = good;
  bad.chunk = -1;
  EXPECT_THROW(run(a, b, c, bad), Error);
  EXPECT_THROW(run(a, b, c, accumulator("mxfp4")), Error);
  EXPECT_THROW(run(a, b, c, accumulator("fp16", {SumMethod::fused, SumOrder::pairwise})), Error);
  EXPECT_THROW(run(a, b, c, accumulator("fp16", {SumMethod::kahan, SumOrder::pairwise})), Error);
  bad = accumulator("e4m3");
  bad.overflow = Overflow::infinity;
  EXPECT_THROW(run(a, b, c, bad), Error);
  bad = good;
  bad.product_format = parse_format("e4m3");
  bad.overflow = Overflow::infinity;
  EXPECT_THROW(run(a, b, c, bad), Error);
  bad.method = SumMethod::fused;  // no product is rounded
  EXPECT_NO_THROW(run(a, b, c, bad));
}

}  // namespace
}  // namespace nibble::inline kernels::accumulation
