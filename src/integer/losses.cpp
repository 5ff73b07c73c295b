// SPDX-License-Identifier: Apache-2.0
// The error of the answers, in integers alone.
#include "integer/losses.h"

#include <algorithm>
#include <cstring>

#include "integer/round_pixels.h"
#include "nibble/core/parallel.h"
#include "nibble/fixed/round_shift.h"

namespace nibble {
namespace {

constexpr std::int64_t kLog2E = 47274;  // log2(e)·2^15
constexpr int kOctaves = 10;            // below the largest answer; what is further down counts 0
constexpr int kProbabilityBits = 11;
constexpr int kErrorShift = 4;       // 2^11 to 2^7
constexpr int kTaylorExponent = -7;  // from here down answers are so small that e^x ≈ 1 + x + x²/2
constexpr int kLeastExponent = -24;  // smaller ones are taken as this: 64 bits hold the sums
constexpr int kMostExponent = 16;

// n_i ∝ e^(v·2^ε) by its series, times 2^(1 - 2ε).
std::vector<std::int64_t> small_powers(std::span<const std::int8_t> answers, int exponent) {
  std::vector<std::int64_t> powers;
  for (const std::int64_t v : answers) {
    powers.push_back((std::int64_t{1} << (1 - 2 * exponent)) +
                     v * (std::int64_t{1} << (1 - exponent)) + v * v);
  }
  return powers;
}

// v·log2(e)·2^ε in units of 2^-15, toward zero.
std::int64_t octaves(std::int64_t v, int exponent) {
  const std::int64_t product = v * kLog2E;
  return exponent >= 0 ? product * (std::int64_t{1} << exponent)
                       : product / (std::int64_t{1} << -exponent);
}

// n_i ∝ 2^z - 1, z from 0 to 10 octaves, with fractions: the largest gives 1023·2^10.
std::vector<std::int64_t> fractional_powers(std::span<const std::int8_t> answers, int exponent) {
  std::vector<std::int64_t> places;
  for (const std::int64_t v : answers) places.push_back(octaves(v, exponent));
  const std::int64_t floor = *std::ranges::max_element(places) - (std::int64_t{kOctaves} << 15);
  std::vector<std::int64_t> powers;
  for (const std::int64_t place : places) {
    const std::int64_t z = std::max<std::int64_t>(place - floor, 0);
    const std::int64_t fraction = power_table()[static_cast<std::size_t>((z & 32767) >> 7)];
    powers.push_back(((fraction << (z >> 15)) >> 5) - 1024);
  }
  return powers;
}

// The same with z cut to a whole number, before the largest is set to 10.
std::vector<std::int64_t> whole_powers(std::span<const std::int8_t> answers, int exponent) {
  std::vector<std::int64_t> places;
  for (const std::int64_t v : answers) {
    const std::int64_t whole = v * kLog2E / 32768;
    places.push_back(exponent >= 0 ? whole * (std::int64_t{1} << exponent)
                                   : whole / (std::int64_t{1} << -exponent));
  }
  const std::int64_t floor = *std::ranges::max_element(places) - kOctaves;
  std::vector<std::int64_t> powers;
  for (const std::int64_t place : places)
    powers.push_back((std::int64_t{1} << std::max<std::int64_t>(place - floor, 0)) - 1);
  return powers;
}

}  // namespace

std::vector<std::int64_t> cross_entropy_differences(std::span<const std::int8_t> answers,
                                                    int exponent, std::int32_t label,
                                                    CrossEntropyForm form) {
  const int held = std::clamp(exponent, kLeastExponent, kMostExponent);
  std::vector<std::int64_t> shares = held <= kTaylorExponent ? small_powers(answers, held)
                                     : form == CrossEntropyForm::fractional
                                         ? fractional_powers(answers, held)
                                         : whole_powers(answers, held);
  std::int64_t sum = 0;
  for (const std::int64_t each : shares) sum += each;
  std::int64_t total = 0;
  for (std::int64_t& each : shares) {
    each = each * (std::int64_t{1} << kProbabilityBits) / sum;
    total += each;
  }
  shares[static_cast<std::size_t>(label)] -= total;
  return shares;
}

std::span<const std::int8_t> answers_of(const BlockTensor& answers, std::int64_t image) {
  return {answers.at(image / kGroup, 0) + image % kGroup * answers.picture.stride(),
          static_cast<std::size_t>(answers.picture.channels)};
}

void cross_entropy_error(const BlockTensor& answers, std::span<const std::int32_t> labels,
                         CrossEntropyForm form, const RandomKey& random, std::int64_t first_image,
                         BlockTensor& error) {
  const std::int64_t classes = answers.picture.channels;
  constexpr std::size_t kGrain = 16;
  parallel_for(
      static_cast<std::size_t>(answers.images), kGrain, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          const auto image = static_cast<std::int64_t>(i);
          const std::vector<std::int64_t> differences = cross_entropy_differences(
              answers_of(answers, image), answers.exponent, labels[i], form);
          std::int8_t* to = error.at(image / kGroup, 0) + image % kGroup * error.picture.stride();
          for (std::int64_t c = 0; c < classes; ++c) {
            const auto element = static_cast<std::uint64_t>((first_image + image) * classes + c);
            to[c] = clamp127(shift_stochastic(differences[static_cast<std::size_t>(c)], kErrorShift,
                                              draw32(random, element)));
          }
        }
      });
  error.exponent = kErrorShift - kProbabilityBits;
}

void squared_error(const BlockTensor& answers, std::span<const std::int32_t> targets,
                   RoundingPoint& point, const PassRule& rule, std::int64_t first_image,
                   BlockTensor& error) {
  const int held = std::clamp(answers.exponent, -40, 24);
  const int common = std::min(held, kTargetExponent);
  const std::int64_t classes = answers.picture.channels;
  const int shift = point.round(rule, error, [&](const RoundingJob& job) {
    return round_pixels<std::int64_t>(
        job, error, first_image, [&](std::int64_t group, std::int64_t, std::int64_t* sums) {
          for (std::int64_t r = 0; r < answers.images_in(group); ++r) {
            const std::int64_t image = group * kGroup + r;
            const auto row = answers_of(answers, image);
            for (std::int64_t c = 0; c < classes; ++c) {
              const std::int64_t target = targets[static_cast<std::size_t>(image * classes + c)];
              sums[r * error.picture.stride() + c] =
                  row[static_cast<std::size_t>(c)] * (std::int64_t{1} << (held - common)) -
                  target * (std::int64_t{1} << (kTargetExponent - common));
            }
          }
        });
  });
  error.exponent = common + shift;
}

}  // namespace nibble
