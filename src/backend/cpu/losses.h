// SPDX-License-Identifier: Apache-2.0
// The error of the answers, in integers alone.
#pragma once

#include <cstdint>
#include <span>

#include "backend/cases.h"
#include "backend/cpu/block_tensor.h"
#include "backend/cpu/rounding_point.h"
#include "backend/loss_laws.h"
#include "nibble/core/philox.h"

namespace nibble::inline backend {

// 128·(softmax - target), rounded stochastically to int8 in units of 2^-7.
void cross_entropy_error(const BlockTensor& answers, std::span<const std::int32_t> labels,
                         const CrossEntropyRule& rule, const RandomKey& random,
                         std::int64_t first_image, const BlockTensor& error);

// y - target for every number, rounded.
SumsOutcome squared_error(const BlockTensor& answers, std::span<const std::int32_t> targets,
                          const SquaredScale& scale, const RoundingJob& job,
                          std::int64_t first_image, const BlockTensor& error);

// The mantissas of one image's answer: one pixel.
std::span<const std::int8_t> answers_of(const BlockTensor& answers, std::int64_t image);

}  // namespace nibble::inline backend
