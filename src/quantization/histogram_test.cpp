// SPDX-License-Identifier: Apache-2.0
#include "quantization/histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "nibble/core/parallel.h"
#include "quantization/quantize_test_support.h"

namespace nibble::inline quantization {
namespace {

ValueHistogram histogram_in_order(const std::vector<std::vector<float>>& parts) {
  ValueHistogram histogram;
  for (const auto& part : parts) histogram.add(part);
  return histogram;
}

// Magnitudes from 2^-140 to 2^100, both signs, zeros of both signs.
std::vector<float> wild_values(std::size_t count) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    const int exponent = static_cast<int>(i % 241) - 140;
    values.push_back(i % 7 == 0 ? (i % 2 == 0 ? 0.0F : -0.0F)
                                : std::ldexp(random_value(1, i), exponent));
  }
  return values;
}

TEST(ValueHistogram, TheOrderAndTheCutOfValuesDoNotMatter) {
  std::vector<float> values = wild_values(5000);
  ValueHistogram whole;
  whole.add(values);
  ValueHistogram one_by_one;
  for (const float& x : values) one_by_one.add({&x, 1});
  EXPECT_TRUE(one_by_one == whole);
  std::ranges::sort(values);
  ValueHistogram merged;
  for (std::size_t begin = 0; begin < values.size(); begin += 617) {
    ValueHistogram part;
    part.add(std::span(values).subspan(begin, std::min<std::size_t>(617, values.size() - begin)));
    part.merge(merged);
    merged = part;
  }
  EXPECT_TRUE(merged == whole);
}

TEST(ValueHistogram, ThreadsDoNotMatter) {
  const std::vector<float> values = wild_values(300'000);
  ValueHistogram whole;
  whole.add(values);
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    EXPECT_TRUE(histogram_of(values) == whole) << threads;
  }
  set_thread_count(0);
}

TEST(ValueHistogram, EveryValueLiesInItsBin) {
  const std::vector<float> values = {-3.0F, -1.0F, -0.0F, 0.0F, 0.5F, 0.75F, 3.999F};
  const ValueHistogram histogram = histogram_in_order({values});
  EXPECT_EQ(histogram.bin_width(), 4.0 / ValueHistogram::kSideBins);
  const std::vector<ValueBin> bins = histogram.occupied();
  ASSERT_EQ(bins.size(), 6U);
  EXPECT_EQ(bins[2], (ValueBin{0, 0, 2}));
  EXPECT_EQ(bins[3], (ValueBin{0.5, 0.5 + histogram.bin_width(), 1}));
  EXPECT_EQ(bins[0].low, -3.0);  // the ends are exact
  EXPECT_EQ(bins[5].high, static_cast<double>(3.999F));
  EXPECT_TRUE(std::ranges::is_sorted(bins, {}, &ValueBin::low));
  EXPECT_EQ(histogram.zeros(), 2);
  EXPECT_EQ(histogram.count(), 7);
}

TEST(ValueHistogram, APowerOfTwoIsInsideTheRange) {
  const ValueHistogram histogram = histogram_in_order({{4.0F, -4.0F}});
  std::int64_t count = 0;
  for (const ValueBin& bin : histogram.occupied()) count += bin.count;
  EXPECT_EQ(count, 2);
  EXPECT_EQ(histogram.max(), 4.0F);
  EXPECT_EQ(histogram.min(), -4.0F);
}

TEST(ValueHistogram, ZerosBeforeSmallValuesDoNotWidenTheBins) {
  EXPECT_TRUE(histogram_in_order({{0.0F}, {0.01F}}) == histogram_in_order({{0.01F, 0.0F}}));
  EXPECT_LT(histogram_in_order({{0.0F}, {0.01F}}).bin_width(), 1e-5);
}

TEST(ValueHistogram, NumbersThatAreNotFiniteAreCountedAndNamed) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const ValueHistogram histogram = histogram_in_order({{1.0F, nan, -infinity}, {nan, 2.0F}});
  EXPECT_EQ(histogram.nans(), 2);
  EXPECT_EQ(histogram.infinities(), 1);
  EXPECT_EQ(histogram.count(), 2);
  EXPECT_EQ(histogram.max(), 2.0F);
  EXPECT_EQ(error_of([&] { check_finite(histogram, "conv1"); }),
            "[calibrate] values of layer 'conv1': got 2 NaN and 1 infinite beside 2 finite, "
            "expected finite numbers");
  EXPECT_EQ(error_of([&] { check_finite(histogram_in_order({{1.0F}}), "conv1"); }), "no error");
}

TEST(ValueHistogram, MagnitudesFoldBothSides) {
  const ValueHistogram folded = histogram_in_order({{-3.0F, -0.5F, 0.0F, 0.5F}}).magnitudes();
  const ValueHistogram expected = histogram_in_order({{3.0F, 0.5F, 0.0F, 0.5F}});
  EXPECT_TRUE(folded == expected);
}

TEST(Quantile, FollowsTheSortedValues) {
  std::vector<float> values(10'001);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = normal_value(i);
  const ValueHistogram histogram = histogram_in_order({values});
  std::ranges::sort(values);
  for (const double share : {0.001, 0.1, 0.5, 0.9, 0.999, 0.9999}) {
    const auto rank = static_cast<std::size_t>(share * 10'000);
    EXPECT_NEAR(quantile(histogram, share), static_cast<double>(values[rank]),
                histogram.bin_width() + 0.1 * (share > 0.99 || share < 0.01))
        << share;
  }
  EXPECT_EQ(quantile(histogram, 0), static_cast<double>(values.front()));
  EXPECT_EQ(quantile(histogram, 1), static_cast<double>(values.back()));
  EXPECT_EQ(quantile(ValueHistogram{}, 0.5), 0.0);
}

TEST(Quantile, IsLinearInsideABin) {
  // Bins of 1/4096: all values in one.
  const ValueHistogram histogram = histogram_in_order({{0.5F, 0.5001F, 0.50015F, 0.5002F}});
  ASSERT_EQ(histogram.occupied().size(), 1U);
  EXPECT_DOUBLE_EQ(quantile(histogram, 0.5), 0.5 + 0.5 * (static_cast<double>(0.5002F) - 0.5));
}

}  // namespace
}  // namespace nibble::inline quantization
