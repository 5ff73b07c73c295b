// SPDX-License-Identifier: Apache-2.0
// Numbers of a layer directory in our words: multipliers and shifts for its divisions, weights in
// our order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nibble/core/shape.h"

namespace nibble::inline foreign {

inline constexpr std::int64_t kAverageShift = 24;
inline constexpr std::int64_t kMaxAverageKernel = 64;

// m such that R(sum·m, 24) is the nearest integer to sum / kernel², ties up, for every sum of
// kernel² values of 0 to high; nothing where no m is.
std::optional<std::int32_t> average_multiplier(std::int64_t kernel, std::int64_t high);

inline constexpr std::int64_t kLogitBits = 16;  // logits are in units of 2^-16

struct LogitMultipliers {
  std::vector<std::int32_t> multipliers;  // the nearest to 2^(16 + shift) / divisor
  std::int64_t shift = 0;                 // the largest up to 26 with which all are below 2^31
};

// Nothing where a divisor is no number above 0 or no shift gives all of them a multiplier.
std::optional<LogitMultipliers> logit_multipliers(std::span<const float> divisors);

// The two orders of a filter's weights: (out, in, rows, columns) in layer directories, ours.

// `shape` is ours, (out, rows, columns, in), whichever way it goes.
std::vector<std::int8_t> channels_last(std::span<const std::int8_t> weights, const Shape& shape);
std::vector<std::int8_t> channels_first(std::span<const std::int8_t> weights, const Shape& shape);

}  // namespace nibble::inline foreign
