// SPDX-License-Identifier: Apache-2.0
// Batch norm in integers beside the same in long doubles, with the error bounds that the law
// states.
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
    const NormStatistics statistics = norm_statistics(sums, count, channel.exponent);
    body(channel, count, sums, statistics, RealNorm(channel));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(BatchNorm, StatisticsAreWithinTheirUnit) {
  for_channels([](const Channel&, std::int64_t, const NormSums&, const NormStatistics& statistics,
                  const RealNorm& real) {
    EXPECT_LE(std::abs(std::ldexp(Real{1} * statistics.mean, -15) - real.mean),
              std::ldexp(Real{0.5001}, -15));
    EXPECT_LE(std::abs(std::ldexp(Real{1} * statistics.deviation(), -15) - real.deviation),
              std::ldexp(Real{1.001}, -15));
    EXPECT_GE(statistics.deviation(), 1 << 15);
  });
}

// The multiplier has 13 bits at least: 2^-14 of the distance to the mean, and one unit.
TEST(BatchNorm, ValuesAreTheRealOnes) {
  for_channels([](const Channel& channel, std::int64_t, const NormSums& sums,
                  const NormStatistics& statistics, const RealNorm& real) {
    const NormLine line = norm_line(statistics, channel.scale);
    EXPECT_GE(std::abs(line.multiplier), 1 << 13);
    EXPECT_LE(std::abs(line.multiplier), 1 << 15);
    std::int64_t largest = 0;
    for (const int v : channel.v) {
      const Real distance = real.scale * (v - real.mean) / real.deviation;
      const Real z = std::ldexp(Real{1} * line.at(v), line.exponent);
      EXPECT_LE(std::abs(z - (distance + real.shift)),
                std::abs(distance) * std::ldexp(Real{1.01}, -14) +
                    std::ldexp(Real{2}, line.exponent) +
                    std::abs(real.scale / real.deviation) * std::ldexp(Real{2}, -15));
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
      along += channel.e[i] * (channel.v[i] - real.mean) / real.deviation / n;
    }
    for (std::size_t i = 0; i < channel.v.size(); ++i) {
      const Real normal = (channel.v[i] - real.mean) / real.deviation;
      const Real wanted = channel.e[i] - mean - normal * along;
      // Back to units of the error.
      const Real got = std::ldexp(Real{1} * plane.at(channel.e[i], channel.v[i]),
                                  plane.exponent + channel.exponent) *
                       real.deviation / real.scale;
      const Real relative = std::ldexp(Real{4}, -14) + std::ldexp(Real{4}, -15) / real.deviation;
      EXPECT_LE(std::abs(got - wanted), (std::abs(channel.e[i]) + std::abs(mean) +
                                         std::abs(normal * along) + std::abs(along)) *
                                                relative +
                                            std::ldexp(Real{1}, -5))
          << channel.e[i] << " " << channel.v[i];
    }
    const std::int64_t gradient = norm_scale_gradient(sums, errors, statistics, count);
    EXPECT_LE(std::abs(gradient - along * n), 2 + std::abs(along * n) * std::ldexp(Real{4}, -15));
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
    for (const int v : channel.v) {
      const std::int64_t sum = std::int64_t{v} << kSumShift;
      const std::int64_t signed_sum = channel.scale.scale < 0 ? -sum : sum;
      const Real got =
          std::ldexp(static_cast<Real>(signed_sum + bias) * multiplier, -kPlaces - 1 - kSumShift);
      const Real distance = real.scale * (v - real.mean) / real.deviation;
      const Real slack =
          std::abs(real.scale / real.deviation) +
          std::ldexp(std::abs(Real{1} * signed_sum + bias), -kPlaces - 1 - kSumShift);
      EXPECT_LE(std::abs(got - (distance + real.shift)),
                slack + (std::abs(distance) + std::abs(real.shift)) * std::ldexp(Real{2}, -15));
    }
  });
}

// The largest numbers that the bounds allow go through without leaving 64 and 128 bits.
TEST(BatchNorm, TheWidestNumbersFit) {
  constexpr std::int64_t kCount = kNormMostNumbers;
  for (const std::int64_t sign : {-1, 1}) {
    const NormSums sums{.values = sign * (kCount / 2) * 32767,
                        .squares = kCount * 32767 * 32767,
                        .least = -32767,
                        .most = 32767};
    const NormStatistics statistics = norm_statistics(sums, kCount, -20);
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
