// SPDX-License-Identifier: Apache-2.0
// The sum of block tensors of one picture: aligned exactly, rounded once.
#pragma once

#include <span>

#include "integer/layer.h"

namespace nibble {

// `result` is no operand; its exponent is set.
void add_blocks(RoundingPoint& point, const IntegerPass& pass,
                std::span<const BlockTensor* const> operands, BlockTensor& result);

}  // namespace nibble
