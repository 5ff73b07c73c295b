// SPDX-License-Identifier: Apache-2.0
// The law of the losses, in integers alone.
#include "backend/loss_laws.h"

#include <algorithm>

#include "backend/cases.h"
#include "fixed/integer_laws.h"

namespace nibble {
namespace {

constexpr std::int64_t kLog2E = 47274;  // log2(e)·2^15
constexpr int kOctaves = 10;            // below the largest answer; what is further down counts 0
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

SquaredScale squared_scale(int answer_exponent) {
  const int held = std::clamp(answer_exponent, -40, 24);
  const int common = std::min(held, kTargetExponent);
  return {common, held - common, kTargetExponent - common};
}

}  // namespace nibble
