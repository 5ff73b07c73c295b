// SPDX-License-Identifier: Apache-2.0
// Tests of exponential buckets.
#include "report/event_record.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace nibble::inline report {
namespace {

TEST(BucketHistogram, AValueLiesBelowItsLimit) {
  const std::vector<float> values = {1.0f};
  const BucketHistogram histogram = bucket_histogram(values);
  ASSERT_EQ(histogram.limits.size(), 1u);
  EXPECT_GT(histogram.limits[0], 1.0);
  EXPECT_LE(histogram.limits[0], 1.1 + 1e-9);
  EXPECT_EQ(histogram.counts, std::vector<double>{1});
}

TEST(BucketHistogram, ZeroLiesInTheBucketAboveZero) {
  const std::vector<float> values = {0.0f, -0.0f, 1e-20f, -1e-20f};
  const BucketHistogram histogram = bucket_histogram(values);
  EXPECT_EQ(histogram.limits, (std::vector<double>{0, 1e-12}));
  EXPECT_EQ(histogram.counts, (std::vector<double>{1, 3}));
}

TEST(BucketHistogram, CountsStandForValues) {
  std::vector<float> values;
  std::vector<CountedValue> counted;
  for (int mantissa = -127; mantissa <= 127; ++mantissa) {
    const float value = std::ldexp(static_cast<float>(mantissa), -9);
    counted.push_back({value, 1000 - 7 * std::abs(mantissa)});
    values.insert(values.end(), static_cast<std::size_t>(counted.back().count), value);
  }
  std::ranges::reverse(values);  // sums of such numbers are exact in any order
  const BucketHistogram one_by_one = bucket_histogram(values);
  const BucketHistogram at_once = bucket_histogram(counted);
  EXPECT_EQ(at_once.count, one_by_one.count);
  EXPECT_EQ(at_once.smallest, one_by_one.smallest);
  EXPECT_EQ(at_once.largest, one_by_one.largest);
  EXPECT_EQ(at_once.sum, one_by_one.sum);
  EXPECT_EQ(at_once.sum_of_squares, one_by_one.sum_of_squares);
  EXPECT_EQ(at_once.limits, one_by_one.limits);
  EXPECT_EQ(at_once.counts, one_by_one.counts);
}

TEST(BucketHistogram, WhatIsNotFiniteIsLeftOut) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {std::nanf(""), kInfinity, -kInfinity};
  EXPECT_EQ(bucket_histogram(values).count, 0);
  EXPECT_TRUE(bucket_histogram(values).limits.empty());
  const std::vector<float> extremes = {-std::numeric_limits<float>::max(), kInfinity,
                                       std::numeric_limits<float>::max()};
  EXPECT_EQ(bucket_histogram(extremes).count, 2);
}

RC_GTEST_PROP(BucketHistogram, CountsEveryValueOnceAndInItsBucket, (std::vector<float> values)) {
  const BucketHistogram histogram = bucket_histogram(values);
  RC_ASSERT(std::ssize(values) == histogram.count);
  RC_ASSERT(std::ranges::is_sorted(histogram.limits));
  const double total = std::accumulate(histogram.counts.begin(), histogram.counts.end(), 0.0);
  RC_ASSERT(total == static_cast<double>(histogram.count));
  if (values.empty()) return;
  RC_ASSERT(histogram.smallest == std::ranges::min(values));
  RC_ASSERT(histogram.largest == std::ranges::max(values));
  RC_ASSERT(histogram.counts.front() > 0);
  RC_ASSERT(histogram.counts.back() > 0);
  const double limit = histogram.limits.front();
  const auto below = std::ranges::count_if(values, [&](float x) { return x < limit; });
  RC_ASSERT(static_cast<double>(below) == histogram.counts.front());
}

}  // namespace
}  // namespace nibble::inline report
