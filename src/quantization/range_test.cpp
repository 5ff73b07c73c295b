// SPDX-License-Identifier: Apache-2.0
#include "quantization/range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "quantization/quantize_test_support.h"

namespace nibble::inline quantization {
namespace {

constexpr GridChoice kPositive{.kind = GridKind::positive, .bits = 8};
constexpr GridChoice kSymmetric{.kind = GridKind::symmetric, .bits = 8};
constexpr GridChoice kAffine{.kind = GridKind::affine, .bits = 8};

ValueObserver observer_of(const std::vector<float>& values) {
  ValueObserver observer;
  observer.add(values);
  return observer;
}

std::vector<float> normal_values(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = normal_value(i);
  return values;
}

RealRange range_by(const ValueObserver& observer, std::string_view method,
                   const GridChoice& choice) {
  return range_of(observer, parse_range_method(method), choice);
}

TEST(ToStep, GridsOfEachKind) {
  EXPECT_EQ(to_step({0, 255}, kPositive), (QuantizationRange{1, {0, 255}}));
  EXPECT_EQ(to_step({0, 15}, {.kind = GridKind::positive, .bits = 4}),
            (QuantizationRange{1, {0, 15}}));
  EXPECT_EQ(to_step({-63.5, 10}, kSymmetric), (QuantizationRange{0.5, {-127, 127}}));
  EXPECT_EQ(to_step({-1, 254}, kAffine), (QuantizationRange{1, {-1, 254}}));
  EXPECT_EQ(to_step({-1.4, 253.6}, kAffine), (QuantizationRange{1, {-1, 254}}));  // nudged
}

TEST(ToStep, TheRangeIsWidenedToHoldZero) {
  EXPECT_EQ(to_step({10, 255}, kAffine), (QuantizationRange{1, {0, 255}}));
  EXPECT_EQ(to_step({-255, -10}, kAffine), (QuantizationRange{1, {-255, 0}}));
}

TEST(ToStep, ARangeWithoutExtentReachesOne) {
  for (const GridChoice& choice : {kPositive, kSymmetric, kAffine}) {
    const QuantizationRange range = to_step({0, 0}, choice);
    EXPECT_FLOAT_EQ(range.step * static_cast<float>(range.grid.high), 1.0F);
  }
  EXPECT_GT(to_step({0, 1e-45}, kPositive).step, 0.0F);
}

TEST(ToStep, BitsOutsideTheGridAreRefused) {
  EXPECT_EQ(error_of([] {
              to_step({0, 1}, {.kind = GridKind::positive, .bits = 17});
            }),
            "[quantize] bits of values: got 17, expected 2 to 16");
}

TEST(RangeMethod, TextFormsComeBack) {
  for (const char* text :
       {"max", "percentile:99.999", "percentile:50", "entropy", "mse", "average"}) {
    EXPECT_EQ(to_string(parse_range_method(text)), text);
  }
}

TEST(RangeMethod, AWrongOneSaysWhatThereIs) {
  for (const char* text : {"", "Max", "percentile", "percentile:", "percentile:49",
                           "percentile:101", "percentile:99x", "percentile:nan", "kl"}) {
    EXPECT_EQ(error_of([&] { parse_range_method(text); }),
              "[calibrate] method: got '" + std::string(text) +
                  "', expected max, percentile:P with P from 50 to 100, entropy, mse or average");
  }
}

TEST(Range, MaxIsExact) {
  const ValueObserver observer = observer_of({-1.25F, 0.0F, 3.0F});
  EXPECT_EQ(range_by(observer, "max", kPositive), (RealRange{0, 3}));
  EXPECT_EQ(range_by(observer, "max", kSymmetric), (RealRange{-3, 3}));
  EXPECT_EQ(range_by(observer, "max", kAffine), (RealRange{-1.25, 3}));
}

TEST(Range, EveryMethodIsSafeWithZerosAlone) {
  const ValueObserver zeros = observer_of(std::vector<float>(10));
  for (const char* method : {"max", "percentile:99", "entropy", "mse", "average"}) {
    for (const GridChoice& choice : {kPositive, kSymmetric, kAffine}) {
      EXPECT_EQ(range_by(zeros, method, choice), RealRange{}) << method;
      EXPECT_EQ(range_by(ValueObserver{}, method, choice), RealRange{}) << method;
    }
  }
}

TEST(Range, APercentileLeavesTheOutlierOut) {
  std::vector<float> values = normal_values(20'000);
  values.push_back(1000);
  const ValueObserver observer = observer_of(values);
  EXPECT_LT(range_by(observer, "percentile:99.99", kPositive).high, 6);
  EXPECT_LT(range_by(observer, "percentile:99.99", kSymmetric).high, 6);
  const RealRange affine = range_by(observer, "percentile:99.9", kAffine);
  EXPECT_NEAR(affine.low, -3.1, 0.4);
  EXPECT_NEAR(affine.high, 3.1, 0.4);
  EXPECT_EQ(range_by(observer, "percentile:100", kPositive).high, 1000);
}

TEST(Range, APercentileOfNearlyAllZerosTakesAll) {
  std::vector<float> values(1000);
  values[3] = 2;
  EXPECT_EQ(range_by(observer_of(values), "percentile:99", kPositive), (RealRange{0, 2}));
}

TEST(Range, AverageIsTheMeanOfBatches) {
  ValueObserver observer;
  observer.add(std::vector<float>{-1, 2});
  observer.add(std::vector<float>{-3, 4});
  EXPECT_EQ(range_by(observer, "average", kAffine), (RealRange{-2, 3}));
}

// Σ (x - fake_quantized(x))² over the values themselves.
double error_over(const std::vector<float>& values, const QuantizationRange& range) {
  double sum = 0;
  for (const float x : values) {
    const double r =
        static_cast<double>(x) - static_cast<double>(fake_quantized(x, range.step, range.grid));
    sum += r * r;
  }
  return sum;
}

TEST(SquaredError, OfBinsIsThatOfTheValues) {
  const std::vector<float> values = normal_values(200'000);
  const ValueObserver observer = observer_of(values);
  const std::vector<ValueBin> bins = observer.histogram.occupied();
  for (const int bits : {2, 4, 8}) {
    for (const double high : {0.5, 2.0, 6.0}) {
      for (const GridKind kind : {GridKind::positive, GridKind::symmetric, GridKind::affine}) {
        const QuantizationRange range = to_step({-0.7 * high, high}, {.kind = kind, .bits = bits});
        const double expected = error_over(values, range);
        EXPECT_NEAR(squared_error(bins, range), expected, 0.02 * expected) << bits << " " << high;
      }
    }
  }
}

TEST(Range, MseIsNotBeatenByOtherThresholds) {
  std::vector<float> values = normal_values(50'000);
  values.push_back(40);
  const ValueObserver observer = observer_of(values);
  for (const int bits : {3, 4, 8}) {
    for (const GridKind kind : {GridKind::positive, GridKind::symmetric, GridKind::affine}) {
      const GridChoice choice{.kind = kind, .bits = bits};
      const double found = error_over(values, to_step(range_by(observer, "mse", choice), choice));
      for (double high = 0.25; high <= 40; high *= 1.07) {
        EXPECT_LE(found, 1.02 * error_over(values, to_step({-high, high}, choice))) << bits;
      }
    }
  }
}

TEST(Range, MseOfAnAffineGridFindsBothEnds) {
  std::vector<float> values;
  for (std::size_t i = 0; i < 50'000; ++i) values.push_back(random_value(1, i) * 2 + 1);  // -1 … 3
  values.push_back(-30);
  values.push_back(60);
  const GridChoice choice{.kind = GridKind::affine, .bits = 4};
  const RealRange range = range_by(observer_of(values), "mse", choice);
  EXPECT_NEAR(range.low, -1, 0.2);
  EXPECT_NEAR(range.high, 3, 0.4);
}

TEST(Range, EntropyCutsAFarTailAndKeepsAnEvenOne) {
  std::vector<float> tailed = normal_values(100'000);
  for (int i = 0; i < 5; ++i) tailed.push_back(30.0F + static_cast<float>(i));
  std::vector<float> even(100'000);
  for (std::size_t i = 0; i < even.size(); ++i) even[i] = random_value(1, i);
  for (const GridChoice& choice : {kPositive, kSymmetric, kAffine}) {
    const RealRange cut = range_by(observer_of(tailed), "entropy", choice);
    EXPECT_LT(cut.high, 15);
    EXPECT_GT(cut.high, 2.5);
    EXPECT_GT(range_by(observer_of(even), "entropy", choice).high, 0.95);
  }
}

TEST(Range, EntropyOfAnAffineGridCutsBothSidesAlike) {
  const ValueObserver observer = observer_of(normal_values(100'000));
  for (const int bits : {3, 4, 8}) {
    const RealRange range = range_by(observer, "entropy", {.kind = GridKind::affine, .bits = bits});
    EXPECT_NEAR(range.low / range.high, -1, 0.3) << bits;
  }
}

TEST(Range, WhatAPositiveGridMakesZeroDoesNotMoveIt) {
  std::vector<float> values = normal_values(50'000);
  std::vector<float> rectified = values;
  for (float& x : rectified) x = std::max(x, 0.0F);
  rectified.push_back(-8);  // bins of the same width
  values.push_back(-8);
  for (const char* method : {"entropy", "mse"}) {
    EXPECT_EQ(range_by(observer_of(values), method, kPositive),
              range_by(observer_of(rectified), method, kPositive))
        << method;
  }
}

// As backgrounds make them: most values are one of a few, and the rest has a long tail.
TEST(Range, EntropyKeepsTheTailBehindPeaks) {
  std::vector<float> values;
  for (int peak = 1; peak <= 8; ++peak) {
    values.insert(values.end(), 10'000, 0.013F * static_cast<float>(peak));
  }
  for (std::size_t i = 0; i < 80'000; ++i) values.push_back(std::abs(normal_value(i)));
  const ValueObserver observer = observer_of(values);
  for (const int bits : {4, 8}) {
    for (const GridKind kind : {GridKind::positive, GridKind::symmetric, GridKind::affine}) {
      const RealRange range = range_by(observer, "entropy", {.kind = kind, .bits = bits});
      EXPECT_GT(range.high, bits == 8 ? 3.0 : 2.0) << bits;
    }
  }
}

// An exponential density of scale 1: T of the least e^-T·ln(steps of the tail) + (step / 1)² / 24.
TEST(Range, EntropyCutsAtTheSamePlaceWhateverTheLargest) {
  for (const float largest : {30.0F, 120.0F}) {
    std::vector<float> values;
    for (std::size_t i = 0; i < 200'000; ++i) {
      values.push_back(-std::log((static_cast<float>(i) + 0.5F) / 200'000));
    }
    values.push_back(largest);
    const ValueObserver observer = observer_of(values);
    const RealRange four = range_by(observer, "entropy", {.kind = GridKind::positive, .bits = 4});
    EXPECT_NEAR(four.high, 6, 1.5) << largest;
    const RealRange eight = range_by(observer, "entropy", {.kind = GridKind::positive, .bits = 8});
    EXPECT_GT(eight.high, 9) << largest;
  }
}

TEST(Divergence, CountsWhatIsFlattenedAndWhatIsCut) {
  // Even over all integers: nothing is lost.
  const std::vector<ValueBin> even = {{0, 8, 80}};
  EXPECT_NEAR(divergence(even, {1, {0, 8}}), 0, 1e-12);
  // The upper half of the values lies 0 to 4 steps outside: their middle is 2.
  EXPECT_NEAR(divergence(even, {1, {0, 4}}), 0.5 * std::log(3), 1e-12);
  // Densities 10, 20 and 30 of a half, a whole and a half cell: β = 1/2, 1/2 and 1/6.
  const std::vector<ValueBin> rising = {{0, 0.5, 5}, {0.5, 1.5, 20}, {1.5, 2, 15}};
  EXPECT_NEAR(divergence(rising, {1, {0, 2}}), (5.0 / 4 + 20.0 / 4 + 15.0 / 36) / 24 / 40, 1e-12);
  // A single value costs nothing, wherever in its cell it lies.
  for (const double at : {2.0, 2.2, 2.45}) {
    EXPECT_EQ(divergence(std::vector<ValueBin>{{0, 0, 100}, {at, at, 10}}, {1, {0, 3}}), 0.0);
  }
}

TEST(RangeSearch, LooksAtManyRanges) {
  std::set<float> steps;
  const RealRange found = cheapest_range({-8, 8}, kSymmetric, [&](const QuantizationRange& range) {
    steps.insert(range.step);
    return std::abs(static_cast<double>(range.step) * 127 - 1.2345);
  });
  EXPECT_GT(steps.size(), 140U);
  EXPECT_NEAR(found.high, 1.2345, 0.005);
  EXPECT_EQ(found.low, -found.high);
}

}  // namespace
}  // namespace nibble::inline quantization
