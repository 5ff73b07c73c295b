// SPDX-License-Identifier: Apache-2.0
// Chooses shift and multipliers.
#include "graph/rescale_factors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "nibble/core/error.h"
#include "nibble/graph/op.h"

namespace nibble::inline graph {

RescaleFactors rescale_factors(std::span<const double> factors, int bits) {
  const double limit = std::ldexp(1.0, bits);
  double most = 0;
  for (const double each : factors) {
    if (!(each >= 0 && std::round(each) < limit)) {
      throw Error("rescale", "factor", fmt::format("{}", each), fmt::format("0 to 2^{}", bits),
                  ErrorKind::input);
    }
    most = std::max(most, each);
  }
  RescaleFactors result;
  while (most != 0 && result.shift < kMaxRescaleShift &&
         std::round(std::ldexp(most, static_cast<int>(result.shift) + 1)) < limit) {
    ++result.shift;
  }
  for (const double each : factors) {
    result.multipliers.push_back(
        static_cast<std::int32_t>(std::round(std::ldexp(each, static_cast<int>(result.shift)))));
  }
  return result;
}

RescaleFactors u16_factors(std::span<const double> factors) {
  constexpr std::array<int, 5> kShifts = {16, 10, 4, 1, 0};
  constexpr double kMost = 65535;
  double most = 0;
  for (const double each : factors) {
    if (!(each >= 0 && std::isfinite(each)))
      throw Error("rescale", "factor", fmt::format("{}", each), "0 or more", ErrorKind::input);
    most = std::max(most, each);
  }
  const auto shift = std::ranges::find_if(
      kShifts, [&](int each) { return std::round(std::ldexp(most, each)) <= kMost; });
  RescaleFactors result{.multipliers = {}, .shift = shift == kShifts.end() ? 0 : *shift};
  for (const double each : factors) {
    result.multipliers.push_back(static_cast<std::int32_t>(
        std::min(std::round(std::ldexp(each, static_cast<int>(result.shift))), kMost)));
  }
  return result;
}

NormalizedFactor normalized_factor(std::int32_t multiplier, std::int64_t shift) {
  if (multiplier == 0) return {};
  const int zeros = std::countl_zero(static_cast<std::uint32_t>(multiplier)) - 1;
  return {multiplier << zeros, 31 - static_cast<int>(shift) - zeros};
}

}  // namespace nibble::inline graph
