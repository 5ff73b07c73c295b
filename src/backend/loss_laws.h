// SPDX-License-Identifier: Apache-2.0
// The law of the losses: what every backend rounds to the error of the answers.
#pragma once

#include <cstdint>
#include <span>

#include "nibble/backend/rules.h"

namespace nibble {

inline constexpr int kProbabilityBits = 11;
inline constexpr int kCrossEntropyExponent = -7;
inline constexpr int kCrossEntropyShift = kProbabilityBits + kCrossEntropyExponent;

// Σ over classes is 0: p_i·2^11 for every class, less the sum of all at the label. `answers` are
// the mantissas of one image, `exponent` theirs. Rounded stochastically by kCrossEntropyShift it is
// the error, 128·(softmax - one-hot).
void cross_entropy_differences(std::span<const std::int8_t> answers, int exponent,
                               std::int32_t label, CrossEntropyForm form,
                               std::span<std::int64_t> differences);

// y - target, aligned exactly and rounded once: y·2^answer_lift - target·2^target_lift in units of
// 2^exponent.
struct SquaredScale {
  int exponent = 0;
  int answer_lift = 0;
  int target_lift = 0;
};
SquaredScale squared_scale(int answer_exponent);

}  // namespace nibble
