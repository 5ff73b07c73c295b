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

using Powers = std::span<std::int64_t>;

// n_i ∝ e^(v·2^ε) by its series, times 2^(1 - 2ε).
void small_powers(std::span<const std::int8_t> answers, int exponent, Powers powers) {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::int64_t v = answers[i];
    powers[i] =
        (std::int64_t{1} << (1 - 2 * exponent)) + v * (std::int64_t{1} << (1 - exponent)) + v * v;
  }
}

// v·log2(e)·2^ε in units of 2^-15, toward zero.
std::int64_t octaves(std::int64_t v, int exponent) {
  const std::int64_t product = v * kLog2E;
  return exponent >= 0 ? product * (std::int64_t{1} << exponent)
                       : product / (std::int64_t{1} << -exponent);
}

// n_i ∝ 2^z - 1, z from 0 to 10 octaves, with fractions: the largest gives 1023·2^10.
void fractional_powers(std::span<const std::int8_t> answers, int exponent, Powers powers) {
  for (std::size_t i = 0; i < answers.size(); ++i) powers[i] = octaves(answers[i], exponent);
  const std::int64_t floor = *std::ranges::max_element(powers) - (std::int64_t{kOctaves} << 15);
  for (std::int64_t& power : powers) {
    const std::int64_t z = std::max<std::int64_t>(power - floor, 0);
    const std::int64_t fraction = power_table()[static_cast<std::size_t>((z & 32767) >> 7)];
    power = ((fraction << (z >> 15)) >> 5) - 1024;
  }
}

// The same with z cut to a whole number, before the largest is set to 10.
void whole_powers(std::span<const std::int8_t> answers, int exponent, Powers powers) {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::int64_t whole = answers[i] * kLog2E / 32768;
    powers[i] = exponent >= 0 ? whole * (std::int64_t{1} << exponent)
                              : whole / (std::int64_t{1} << -exponent);
  }
  const std::int64_t floor = *std::ranges::max_element(powers) - kOctaves;
  for (std::int64_t& power : powers)
    power = (std::int64_t{1} << std::max<std::int64_t>(power - floor, 0)) - 1;
}

}  // namespace

void cross_entropy_differences(std::span<const std::int8_t> answers, int exponent,
                               std::int32_t label, CrossEntropyForm form,
                               std::span<std::int64_t> differences) {
  const int held = std::clamp(exponent, kLeastExponent, kMostExponent);
  if (held <= kTaylorExponent) {
    small_powers(answers, held, differences);
  } else if (form == CrossEntropyForm::fractional) {
    fractional_powers(answers, held, differences);
  } else {
    whole_powers(answers, held, differences);
  }
  std::int64_t sum = 0;
  for (const std::int64_t each : differences) sum += each;
  std::int64_t total = 0;
  for (std::int64_t& each : differences) {
    each = each * (std::int64_t{1} << kProbabilityBits) / sum;
    total += each;
  }
  differences[static_cast<std::size_t>(label)] -= total;
}

SquaredScale squared_scale(int answer_exponent) {
  const int held = std::clamp(answer_exponent, -40, 24);
  const int common = std::min(held, kTargetExponent);
  return {common, held - common, kTargetExponent - common};
}

}  // namespace nibble
