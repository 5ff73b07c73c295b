// SPDX-License-Identifier: Apache-2.0
// Error statistics against sums done by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/quantize/test_compare.h"
#include "kernels/quantize/test_inputs.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/kernels/quantize.h"

namespace nibble::inline kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();

ErrorStatistics statistics(const std::vector<float>& x, const std::vector<float>& q,
                           const char* format, const QuantizeOptions& options = {}) {
  const Shape shape{static_cast<std::int64_t>(x.size())};
  return error_statistics(shaped(x, shape), shaped(q, shape), parse_format(format), options);
}

TEST(ErrorStatistics, AreTheSumsDoneByHand) {
  // Errors -0.25, -0.5, -73, -0.25, 0 over the five finite inputs.
  const ErrorStatistics s = statistics({1.25F, -3.5F, 200, 0.25F, kInfinity, kNoNumber, -0.0F},
                                       {1, -4, 127, 0, 127, kNoNumber, 0}, "int8");
  EXPECT_EQ(s.elements, 7);
  EXPECT_EQ(s.non_finite, 2);
  EXPECT_DOUBLE_EQ(s.sqnr_db, 10 * std::log10(40013.875 / 5329.375));
  EXPECT_EQ(s.max_abs_error, 73);
  EXPECT_DOUBLE_EQ(s.mean_abs_error, 74.0 / 5);
  EXPECT_DOUBLE_EQ(s.mean_error, -74.0 / 5);
  EXPECT_DOUBLE_EQ(s.share_saturated, 0.2);
  EXPECT_DOUBLE_EQ(s.share_flushed, 0.2);
}

TEST(ErrorStatistics, SignalAndNoiseInEqualPartsAreZeroDecibel) {
  EXPECT_DOUBLE_EQ(statistics({3, 4}, {0, 8}, "fp32").sqnr_db, 0);
  EXPECT_DOUBLE_EQ(statistics({10, 0}, {9, 0}, "fp32").sqnr_db, 20);
}

TEST(ErrorStatistics, ErrorsOfOppositeSignCancelInTheBiasAlone) {
  const ErrorStatistics s = statistics({1, 2}, {1.5F, 1.5F}, "fp32");
  EXPECT_EQ(s.mean_error, 0);
  EXPECT_EQ(s.mean_abs_error, 0.5);
}

TEST(ErrorStatistics, NoErrorIsInfinitelyManyDecibel) {
  const ErrorStatistics s = statistics({1, -2, 0}, {1, -2, 0}, "e4m3");
  EXPECT_EQ(s.sqnr_db, std::numeric_limits<double>::infinity());
  EXPECT_EQ(s.max_abs_error, 0);
  EXPECT_EQ(s.share_saturated, 0);
}

TEST(ErrorStatistics, NothingFiniteLeavesZeros) {
  for (const std::vector<float>& x : {std::vector<float>{}, {kNoNumber, kInfinity}}) {
    const ErrorStatistics s = statistics(x, x, "e4m3");
    EXPECT_EQ(s.elements, static_cast<std::int64_t>(x.size()));
    EXPECT_EQ(s.non_finite, s.elements);
    EXPECT_EQ(s.mean_abs_error, 0);
    EXPECT_EQ(s.share_flushed, 0);
  }
}

TEST(ErrorStatistics, AValueAtTheEndThatNeededNoClampIsNotSaturated) {
  // Rounded up to 448 from below; held exactly; clamped; clamped below zero.
  const ErrorStatistics s = statistics({440, 448, 460, -1000}, {448, 448, 448, -448}, "e4m3");
  EXPECT_DOUBLE_EQ(s.share_saturated, 0.5);
}

TEST(ErrorStatistics, InfiniteResultsCountAsSaturated) {
  const ErrorStatistics s = statistics({70000, 1}, {kInfinity, 1}, "fp16");
  EXPECT_DOUBLE_EQ(s.share_saturated, 0.5);
  EXPECT_EQ(s.max_abs_error, std::numeric_limits<double>::infinity());
}

TEST(ErrorStatistics, EveryGroupHasItsOwnEnds) {
  // Blocks of two: scales 1 and 1/16 end at 6 and 0.375.
  const ErrorStatistics s =
      statistics({7, 0.375F, 0.4375F, 0.375F}, {6, 0.5F, 0.375F, 0.375F}, "mxfp4(block=2)");
  EXPECT_DOUBLE_EQ(s.share_saturated, 0.5);
}

TEST(ErrorStatistics, AZeroPointMovesTheEnds) {
  // n from 0 to 15 with zero 8 and scale 0.5: values -4 to 3.5.
  const ErrorStatistics s =
      statistics({-9, 9, -4, 3}, {-4, 3.5F, -4, 3}, "uint4(scale=0.5,zero=8)");
  EXPECT_DOUBLE_EQ(s.share_saturated, 0.5);
}

TEST(ErrorStatistics, TakeTheScalesBesideTheData) {
  const std::vector<float> x = {300, 300};
  const std::vector<float> q = {127, 254};
  const ErrorStatistics s = error_statistics(shaped(x, {2, 1}), shaped(q, {2, 1}),
                                             parse_format("int8(axis=0)"), {.scales = {1, 2}});
  EXPECT_DOUBLE_EQ(s.share_saturated, 1);
}

TEST(ErrorStatistics, DoNotDependOnThreads) {
  const Format format = parse_format("mxfp4");
  const Shape shape{3, 70001};
  const std::vector<float> x = mixed_inputs(static_cast<std::size_t>(shape.elements()), format);
  const std::vector<float> q = quantized(x, shape, format, {});
  set_thread_count(1);
  const ErrorStatistics one = error_statistics(shaped(x, shape), shaped(q, shape), format);
  for (const int threads : {2, 3, 5}) {
    set_thread_count(threads);
    const ErrorStatistics many = error_statistics(shaped(x, shape), shaped(q, shape), format);
    EXPECT_EQ(many.non_finite, one.non_finite);
    EXPECT_EQ(many.sqnr_db, one.sqnr_db);
    EXPECT_EQ(many.max_abs_error, one.max_abs_error);
    EXPECT_EQ(many.mean_abs_error, one.mean_abs_error);
    EXPECT_EQ(many.mean_error, one.mean_error);
    EXPECT_EQ(many.share_saturated, one.share_saturated);
    EXPECT_EQ(many.share_flushed, one.share_flushed);
  }
  set_thread_count(0);
  EXPECT_GT(one.share_saturated, 0);
  EXPECT_GT(one.share_flushed, 0);
}

TEST(ErrorStatistics, RefuseOtherShapesAndTypes) {
  const std::vector<float> x = {1, 2};
  EXPECT_THROW(error_statistics(shaped(x, {2}), shaped(x, {1, 2}), parse_format("e4m3")), Error);
  const Tensor doubles(DType::f64, {2});
  EXPECT_THROW(error_statistics(shaped(x, {2}), doubles.view(), parse_format("e4m3")), Error);
}

}  // namespace
}  // namespace nibble::inline kernels
