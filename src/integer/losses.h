// SPDX-License-Identifier: Apache-2.0
// The error of the answers, in integers alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "integer/block_tensor.h"
#include "integer/rounding_point.h"
#include "nibble/core/philox.h"

namespace nibble {

// Σ over classes is 0: p_i·2^11 for every class, less the sum of all at the label. `answers` are
// the mantissas of one image, `exponent` theirs.
std::vector<std::int64_t> cross_entropy_differences(std::span<const std::int8_t> answers,
                                                    int exponent, std::int32_t label,
                                                    CrossEntropyForm form);

// 128·(softmax - one-hot), rounded stochastically to int8 with exponent -7.
void cross_entropy_error(const BlockTensor& answers, std::span<const std::int32_t> labels,
                         CrossEntropyForm form, const RandomKey& random, std::int64_t first_image,
                         BlockTensor& error);

// y - target, aligned exactly and rounded once. Targets are in units of 2^-16, one a number of the
// answer, image after image.
inline constexpr int kTargetExponent = -16;
void squared_error(const BlockTensor& answers, std::span<const std::int32_t> targets,
                   RoundingPoint& point, const PassRule& rule, std::int64_t first_image,
                   BlockTensor& error);

// The mantissas of one image's answer: one pixel.
std::span<const std::int8_t> answers_of(const BlockTensor& answers, std::int64_t image);

// round(2^15·2^(j/256)), j < 256.
std::span<const std::uint16_t> power_table();

}  // namespace nibble
