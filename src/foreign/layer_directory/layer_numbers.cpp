// SPDX-License-Identifier: Apache-2.0
// Finds multipliers and reorders the weights of filters.
#include "foreign/layer_directory/layer_numbers.h"

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

// Each filter is a matrix of `rows` by `columns`, which is transposed.
std::vector<std::int8_t> transposed(std::span<const std::int8_t> weights, std::int64_t filters,
                                    std::int64_t rows, std::int64_t columns) {
  std::vector<std::int8_t> result(weights.size());
  auto* out = result.data();
  for (std::int64_t f = 0; f < filters; ++f) {
    const std::int8_t* filter = weights.data() + f * rows * columns;
    for (std::int64_t c = 0; c < columns; ++c) {
      for (std::int64_t r = 0; r < rows; ++r) *out++ = filter[r * columns + c];
    }
  }
  return result;
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

std::vector<std::int8_t> channels_last(std::span<const std::int8_t> weights, const Shape& shape) {
  return transposed(weights, shape[0], shape[3], shape[1] * shape[2]);
}

std::vector<std::int8_t> channels_first(std::span<const std::int8_t> weights, const Shape& shape) {
  return transposed(weights, shape[0], shape[1] * shape[2], shape[3]);
}

}  // namespace nibble::inline foreign
