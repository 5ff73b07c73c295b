// SPDX-License-Identifier: Apache-2.0
// Batch norm in integers beside the same in exact integers of 128 bits and, where there is a root,
// in long doubles, with the error bounds that the law states. tests/integers has exact rationals.
#include "laws/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace nibble::inline laws {
namespace {

using Real = long double;

struct Channel {
  std::vector<int> v;
  std::vector<int> e;
  int exponent;  // of v
  NormScale scale;
};

Channel random_channel(std::mt19937_64& generator) {
  const auto below = [&](std::uint64_t n) { return static_cast<int>(generator() % n); };
  Channel channel{.v = {}, .e = {}, .exponent = below(30) - 24, .scale = {}};
  const int count = 1 + below(300);
  const int spread = 1 << below(16);
  const int center = below(2) == 0 ? 0 : below(32768) - 16384;
  for (int i = 0; i < count; ++i) {
    channel.v.push_back(std::clamp(center + below(2 * spread) - spread, -32767, 32767));
    channel.e.push_back(below(255) - 127);
  }
  const int magnitude = std::max<int>(kNormScaleLeast, 1 << below(23)) + below(200);
  channel.scale = {.scale = below(2) == 0 ? magnitude : -magnitude,
                   .shift = below(1 << 24) - (1 << 23)};
  return channel;
}

NormSums sums_of(const Channel& channel) {
  NormSums sums{.least = 32767, .most = -32767};
  for (const int v : channel.v) {
    sums.values += v;
    sums.squares += std::int64_t{v} * v;
    sums.least = std::min(sums.least, v);
    sums.most = std::max(sums.most, v);
  }
  return sums;
}

NormErrorSums error_sums_of(const Channel& channel) {
  NormErrorSums sums;
  for (std::size_t i = 0; i < channel.v.size(); ++i) {
    sums.errors += channel.e[i];
    sums.products += std::int64_t{channel.e[i]} * channel.v[i];
  }
  return sums;
}

// In units of v.
struct RealNorm {
  explicit RealNorm(const Channel& channel) {
    const auto n = static_cast<Real>(channel.v.size());
    for (const int v : channel.v) mean += v / n;
    for (const int v : channel.v) variance += (v - mean) * (v - mean) / n;
    const int epsilon = std::clamp(kNormEpsilonExponent - 2 * channel.exponent, 0, 30);
    deviation = std::sqrt(variance + std::ldexp(Real{1}, epsilon));
    scale = std::ldexp(Real{1} * channel.scale.scale, kNormScaleExponent);
    shift = std::ldexp(Real{1} * channel.scale.shift, kNormScaleExponent);
  }
  Real mean = 0;
  Real variance = 0;
  Real deviation = 0;
  Real scale = 0;
  Real shift = 0;
};

constexpr int kChannels = 4000;

template <class Body>
void for_channels(const Body& body) {
  std::mt19937_64 generator(21);
  for (int i = 0; i < kChannels; ++i) {
    const Channel channel = random_channel(generator);
    const auto count = static_cast<std::int64_t>(channel.v.size());
    const NormSums sums = sums_of(channel);
    const NormStatistics statistics = norm_statistics(norm_moments(sums, count, channel.exponent));
    body(channel, count, sums, statistics, RealNorm(channel));
    if (testing::Test::HasFailure()) return;
  }
}

// Mean, variance and deviation by their definitions: no division, no root, nothing rounded.
void expect_exact_statistics(const NormSums& sums, std::int64_t count, int exponent) {
  const NormStatistics statistics = norm_statistics(norm_moments(sums, count, exponent));
  const Int128 n = count;
  const Int128 twice_off = 2 * (n * statistics.mean - Int128{sums.values} * (1 << 15));
  EXPECT_TRUE(-n <= twice_off && twice_off <= n);
  const int epsilon = std::clamp(kNormEpsilonExponent - 2 * exponent, 0, 30);
  const std::int64_t least = statistics.variance - (std::int64_t{1} << (30 + epsilon));
  // least ≤ spread·2^30 / N² < least + 1, in 2^-30 so that 128 bits hold it.
  const Int128 spread = n * sums.squares - Int128{sums.values} * sums.values;
  const Int128 square = n * n;
  const Int128 rest = (spread % square) * (std::int64_t{1} << 30);
  const Int128 left = least - (spread / square) * (std::int64_t{1} << 30);
  EXPECT_TRUE(left * square <= rest && rest < (left + 1) * square);
  const Int128 deviation = statistics.deviation();
  EXPECT_TRUE(deviation * deviation <= statistics.variance &&
              statistics.variance < (deviation + 1) * (deviation + 1));
  EXPECT_GE(statistics.deviation(), 1 << 15);
}

TEST(BatchNorm, StatisticsAreThoseOfExactIntegers) {
  for_channels([](const Channel& channel, std::int64_t count, const NormSums& sums,
                  const NormStatistics&,
                  const RealNorm&) { expect_exact_statistics(sums, count, channel.exponent); });
  // Two values in any shares, of as many numbers as a batch can have.
  std::mt19937_64 generator(22);
  for (int i = 0; i < kChannels; ++i) {
    const auto drawn = [&](int bits) {
      return static_cast<std::int64_t>(generator() >> (64 - bits));
    };
    const std::int64_t count = 1 + drawn(1 + i % 31) % kNormMostNumbers;
    const std::int64_t share = i % 3 == 0 ? count / 2 : drawn(31) % (count + 1);
    const std::int64_t one = i % 5 == 0 ? 32767 : drawn(15);
    const std::int64_t other = i % 7 == 0 ? -32767 : drawn(15) - 16384;
    const NormSums sums{.values = share * one + (count - share) * other,
                        .squares = share * one * one + (count - share) * other * other};
    expect_exact_statistics(sums, count, i % 40 - 30);
  }
}

TEST(BatchNorm, MultipliersAreQuotientsToTheNearest) {
  for_channels([](const Channel& channel, std::int64_t, const NormSums&,
                  const NormStatistics& statistics, const RealNorm&) {
    const NormLine line = norm_line(statistics, channel.scale);
    const Int128 deviation = statistics.deviation();
    const Int128 multiplier = std::abs(line.multiplier);
    EXPECT_EQ(line.multiplier < 0, channel.scale.scale < 0);
    const Int128 numerator = Int128{channel.scale.magnitude()} << (-1 - line.exponent);
    const Int128 twice_off = 2 * (multiplier * deviation - numerator);
    EXPECT_TRUE(-deviation < twice_off && twice_off <= deviation);
    EXPECT_TRUE(1 << 13 <= multiplier && multiplier <= 1 << 15);
  });
}

TEST(BatchNorm, ValuesAreTheRealOnes) {
  for_channels([](const Channel& channel, std::int64_t, const NormSums& sums,
                  const NormStatistics& statistics, const RealNorm& real) {
    const NormLine line = norm_line(statistics, channel.scale);
    std::int64_t largest = 0;
    for (const int v : channel.v) {
      const Real wanted = real.scale * (v - real.mean) / real.deviation + real.shift;
      const Real off = line.at(v) - std::ldexp(wanted, -line.exponent);
      EXPECT_LT(std::abs(off), 1.5L * (std::abs(v - real.mean) + 1));
      largest = std::max(largest, std::abs(line.at(v)));
    }
    EXPECT_EQ(line.largest(sums.least, sums.most), largest);
  });
}

TEST(BatchNorm, ErrorsAreTheRealOnes) {
  for_channels([](const Channel& channel, std::int64_t count, const NormSums& sums,
                  const NormStatistics& statistics, const RealNorm& real) {
    const NormErrorSums errors = error_sums_of(channel);
    const NormLine line = norm_line(statistics, channel.scale);
    const NormErrorPlane plane =
        norm_error_plane(sums, errors, statistics, line, count, channel.exponent);
    const auto n = static_cast<Real>(count);
    Real mean = 0;
    Real along = 0;
    for (std::size_t i = 0; i < channel.v.size(); ++i) {
      mean += channel.e[i] / n;
      along += channel.e[i] * (channel.v[i] - real.mean) / (real.deviation * real.deviation) / n;
    }
    for (std::size_t i = 0; i < channel.v.size(); ++i) {
      const Real distance = channel.v[i] - real.mean;
      const Real about = channel.e[i] - mean;
      const Real wanted = real.scale / real.deviation * (about - along * distance);
      const Real off =
          plane.at(channel.e[i], channel.v[i]) - std::ldexp(wanted, kNormErrorBits - line.exponent);
      const Real slopes = 385 * std::abs(along) + 256 / (real.deviation * real.deviation) + 1;
      EXPECT_LT(std::abs(off),
                384 * std::abs(about) + slopes * std::abs(distance) + 129 * std::abs(along) + 1)
          << channel.e[i] << " " << channel.v[i];
    }
    EXPECT_EQ(plane.exponent, line.exponent - kNormErrorBits - channel.exponent);
    const std::int64_t gradient = norm_scale_gradient(sums, errors, statistics, count);
    const Real exact = along * real.deviation * n;
    EXPECT_LT(std::abs(gradient - exact), 2 + std::abs(exact) / statistics.deviation());
  });
}

TEST(BatchNorm, FrozenChannelsAreTheRealOnes) {
  for_channels([](const Channel& channel, std::int64_t, const NormSums&,
                  const NormStatistics& statistics, const RealNorm& real) {
    constexpr int kSumShift = 5;
    constexpr int kPlaces = 30;
    const std::int64_t bias = frozen_norm_bias(statistics, channel.scale, kSumShift);
    if (std::abs(bias) == kNormBiasMost) return;
    const std::int64_t multiplier = frozen_norm_multiplier(statistics, channel.scale, kPlaces);
    const Real exact = std::ldexp(std::abs(real.scale) / real.deviation, kPlaces + 1);
    const Real of_multiplier = 0.5L + exact / statistics.deviation();
    const Real of_bias = 0.5L + std::ldexp(std::abs(real.shift / real.scale), kSumShift - 15) +
                         std::ldexp(Real{1}, kSumShift - 16);
    EXPECT_LE(std::abs(multiplier - exact), of_multiplier);
    for (const int v : channel.v) {
      const std::int64_t sum = std::int64_t{v} << kSumShift;
      const std::int64_t signed_sum = channel.scale.scale < 0 ? -sum : sum;
      const Real wanted = real.scale * (v - real.mean) / real.deviation + real.shift;
      const Real off = static_cast<Real>(signed_sum + bias) * multiplier -
                       std::ldexp(wanted, kPlaces + 1 + kSumShift);
      EXPECT_LE(std::abs(off), std::abs(signed_sum + bias) * of_multiplier + exact * of_bias);
    }
  });
}

// |β/γ| at most 2^(14.5 - shift) - 1: then the bound of the frozen bias is not met, whatever the
// statistics are; with the largest ones it is, a little above.
TEST(BatchNorm, FrozenBiasesAreHeldByLargeShiftsAlone) {
  std::mt19937_64 generator(23);
  const auto root = static_cast<std::int64_t>(std::sqrt(std::ldexp(Real{1}, 61)));
  int held = 0;
  for (int i = 0; i < kChannels; ++i) {
    const int sum_shift = i % 15;
    const auto magnitude = static_cast<std::int64_t>(kNormScaleLeast + generator() % 100'000);
    const Real most_ratio = std::exp2(Real{14.5} - sum_shift) - 1;
    const auto most_shift = static_cast<std::int64_t>(most_ratio * magnitude);
    if (most_shift > kNormScaleMost) continue;
    for (const std::int64_t deviation : {root, std::int64_t{1} << 15}) {
      for (const int sign : {-1, 1}) {
        const NormStatistics statistics{.mean = -sign * kNormMeanMost,
                                        .variance = deviation * deviation};
        const auto bias_of = [&](std::int64_t shift) {
          const NormScale scale{.scale = static_cast<std::int32_t>(magnitude),
                                .shift = static_cast<std::int32_t>(sign * shift)};
          return std::int64_t{frozen_norm_bias(statistics, scale, sum_shift)};
        };
        const Real exact =
            std::ldexp((Real{1} * most_shift * deviation) / magnitude + kNormMeanMost,
                       sum_shift - kNormUnitBits);
        EXPECT_LT(std::abs(bias_of(most_shift)), kNormBiasMost);
        EXPECT_NEAR(static_cast<double>(bias_of(most_shift)), static_cast<double>(sign * exact), 1);
        const auto above = static_cast<std::int64_t>((most_ratio + 1) * magnitude);
        if (deviation == root && above <= kNormScaleMost) {
          EXPECT_EQ(bias_of(above), sign * kNormBiasMost);
          ++held;
        }
      }
    }
  }
  EXPECT_GT(held, kChannels / 2);
}

// The largest numbers that the bounds allow go through without leaving 64 and 128 bits.
TEST(BatchNorm, TheWidestNumbersFit) {
  constexpr std::int64_t kCount = kNormMostNumbers;
  for (const std::int64_t sign : {-1, 1}) {
    const NormSums sums{.values = sign * (kCount / 2) * 32767,
                        .squares = kCount * 32767 * 32767,
                        .least = -32767,
                        .most = 32767};
    const NormStatistics statistics = norm_statistics(norm_moments(sums, kCount, -20));
    EXPECT_LE(statistics.deviation(), std::int64_t{1} << 31);
    for (const std::int32_t magnitude : {kNormScaleLeast, kNormScaleMost}) {
      const NormScale scale{.scale = magnitude, .shift = kNormScaleMost};
      const NormLine line = norm_line(statistics, scale);
      EXPECT_LT(std::abs(line.addend), std::int64_t{1} << 46);
      EXPECT_GE(line.exponent, -37);
      EXPECT_LE(line.exponent, -7);
      const NormErrorSums errors{.errors = sign * kCount * 127, .products = kCount * 127 * 32767};
      const NormErrorPlane plane = norm_error_plane(sums, errors, statistics, line, kCount, -20);
      EXPECT_LT(std::abs(plane.value), std::int64_t{1} << 31);
      EXPECT_LT(std::abs(plane.addend), std::int64_t{1} << 48);
    }
  }
}

NormMoments random_moments(std::mt19937_64& generator) {
  const auto within = [&](std::int64_t most) {
    const auto x = static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(most + 1));
    return generator() % 8 == 0 ? most : x >> (generator() % 60);
  };
  const std::int64_t mean = within(kNormMeanMost);
  return {.mean = generator() % 2 == 0 ? mean : -mean,
          .spread = within(kNormSpreadMost),
          .exponent = static_cast<std::int64_t>(generator() % 12) - 20};
}

// Of x·2^-s, in integers: nothing is divided.
void expect_moved(std::int64_t x, std::int64_t s, std::int64_t most, std::int64_t moved) {
  if (s < 0) {
    const Int128 exact = Int128{x} << -s;
    EXPECT_TRUE(moved == exact || (std::abs(moved) == most && (exact > most || exact < -most) &&
                                   (moved < 0) == (x < 0)));
    return;
  }
  const Int128 unit = Int128{1} << s;
  const Int128 twice_off = 2 * (magnitude_of(moved) * unit - magnitude_of(x));
  EXPECT_TRUE(-unit < twice_off && twice_off <= unit);  // halves go away from zero
  EXPECT_TRUE(moved == 0 || (moved < 0) == (x < 0));
}

TEST(BatchNorm, WhatIsKeptTakesTheUnitOfTheNextBatch) {
  std::mt19937_64 generator(24);
  for (int i = 0; i < kChannels; ++i) {
    const NormMoments kept = random_moments(generator);
    const NormMoments moved = norm_moments_in(kept, kept.exponent + i % 61 - 30);
    const std::int64_t s = moved.exponent - kept.exponent;
    expect_moved(kept.mean, s, kNormMeanMost, moved.mean);
    expect_moved(kept.spread, 2 * s, kNormSpreadMost, moved.spread);
  }
  constexpr NormMoments kKept{.mean = -3, .spread = 6, .exponent = -4};
  static_assert(norm_moments_in(kKept, -3) == NormMoments{-2, 2, -3});  // -1.5 and 1.5
  static_assert(norm_moments_in(kKept, -5) == NormMoments{-6, 24, -5});
  static_assert(norm_moments_in(kKept, 200) == NormMoments{0, 0, 200});
  static_assert(norm_moments_in(kKept, -200) == NormMoments{-kNormMeanMost, kNormSpreadMost, -200});
}

TEST(BatchNorm, RunningStatisticsGoTheirShareOfTheWay) {
  std::mt19937_64 generator(25);
  for (int i = 0; i < kChannels; ++i) {
    const NormMoments kept = random_moments(generator);
    const NormMoments batch = random_moments(generator);
    const int share = 1 + i % 256;
    const NormMoments before = norm_moments_in(kept, batch.exponent);
    const NormMoments after = running_moments(kept, batch, share);
    EXPECT_EQ(after.exponent, batch.exponent);
    const auto expect_step = [&](std::int64_t from, std::int64_t to, std::int64_t reached) {
      const Int128 way = Int128{to - from} * share;
      const Int128 gone = Int128{reached - from} * 256;
      const Int128 beyond = way < 0 ? way - gone : gone - way;
      EXPECT_TRUE(-128 < beyond && beyond <= 128);  // halves go away from zero
    };
    expect_step(before.mean, batch.mean, after.mean);
    expect_step(before.spread, batch.spread, after.spread);
    EXPECT_EQ(running_moments(kept, batch, 256), batch);
  }
  // The widest ways.
  constexpr NormMoments kLow{-kNormMeanMost, 0, 0};
  constexpr NormMoments kHigh{kNormMeanMost, kNormSpreadMost, 0};
  static_assert(running_moments(kLow, kHigh, 128) == NormMoments{0, kNormSpreadMost / 2, 0});
  static_assert(running_moments(kHigh, kLow, 255) ==
                NormMoments{-kNormMeanMost + (1 << 23), kNormSpreadMost >> 8, 0});
  static_assert(norm_statistics(norm_moments_in(kHigh, -40)).variance == kNormVarianceMost);
}

TEST(BatchNorm, AMomentumIsAShareIn256thsAndNeverNone) {
  for (const auto& [momentum, share] : {std::pair{0.1F, 26},
                                        {0.01F, 3},
                                        {0.5F, 128},
                                        {1.0F, 256},
                                        {0.001F, 1},
                                        {0.0F, 1},
                                        {-0.0F, 1},
                                        {1e-40F, 1},
                                        {0.99F, 253}})
    EXPECT_EQ(norm_share(std::bit_cast<std::uint32_t>(momentum)), share) << momentum;
}

TEST(BatchNorm, SumsOfAnyInputFitFifteenBits) {
  for (const std::int64_t magnitudes : {0, 1, 258, 259, 2048, 100'000, 16'909'288}) {
    const int shift = norm_sum_shift(magnitudes);
    EXPECT_LE(rounded_shift(127 * magnitudes, shift), 32768);
    EXPECT_LE(norm_value(127 * magnitudes, shift), 32767);
    if (shift == 0) continue;
    EXPECT_GT(rounded_shift(127 * magnitudes, shift - 1), 32768);
  }
}

}  // namespace
}  // namespace nibble::inline laws
