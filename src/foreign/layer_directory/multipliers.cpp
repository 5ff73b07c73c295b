// SPDX-License-Identifier: Apache-2.0
// Divisions as products and shifts.
#include "foreign/layer_directory/multipliers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nibble::inline foreign {
namespace {

constexpr std::int64_t kMaxLogitShift = 26;
constexpr std::int64_t kMaxMultiplier = std::numeric_limits<std::int32_t>::max();

bool averages_rightly(std::int64_t multiplier, std::int64_t window, std::int64_t high) {
  constexpr std::int64_t kHalf = std::int64_t{1} << (kAverageShift - 1);
  for (std::int64_t sum = 0; sum <= window * high; ++sum) {
    if ((sum * multiplier + kHalf) >> kAverageShift != (2 * sum + window) / (2 * window)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<std::int32_t> average_multiplier(std::int64_t kernel, std::int64_t high) {
  if (kernel < 1 || kernel > kMaxAverageKernel) return {};
  const std::int64_t window = kernel * kernel;
  constexpr std::int64_t kOne = std::int64_t{1} << kAverageShift;
  const std::int64_t nearest = (2 * kOne + window) / (2 * window);
  const std::int64_t above = (kOne + window - 1) / window;  // takes ties up where nearest does not
  for (const std::int64_t multiplier : {nearest, above}) {
    if (averages_rightly(multiplier, window, high)) return static_cast<std::int32_t>(multiplier);
  }
  return {};
}

std::optional<LogitMultipliers> logit_multipliers(std::span<const float> divisors) {
  if (divisors.empty()) return {};
  for (const float divisor : divisors) {
    if (!(divisor > 0 && std::isfinite(divisor))) return {};
  }
  const auto [smallest, largest] = std::minmax_element(divisors.begin(), divisors.end());
  // Division is correctly rounded, so this is the same number everywhere.
  const auto multiplier_of = [](float divisor, std::int64_t shift) {
    return std::round(std::ldexp(1.0, static_cast<int>(kLogitBits + shift)) /
                      static_cast<double>(divisor));
  };
  LogitMultipliers result{.multipliers = {}, .shift = kMaxLogitShift};
  while (multiplier_of(*smallest, result.shift) > static_cast<double>(kMaxMultiplier)) {
    if (--result.shift < 0) return {};
  }
  if (multiplier_of(*largest, result.shift) < 1) return {};
  for (const float divisor : divisors) {
    result.multipliers.push_back(static_cast<std::int32_t>(multiplier_of(divisor, result.shift)));
  }
  return result;
}

}  // namespace nibble::inline foreign
