// SPDX-License-Identifier: Apache-2.0
// int8 with a power of two as its scale: how integer-trained networks keep values and weights.
#pragma once

#include <optional>

#include "nibble/graph/network.h"

namespace nibble::inline graph {

// ⌈log2 largest⌉ - 7, so that mantissas within ±127 reach it, or one step less; -7 where it is 0.
int exponent_for(double largest);

Precision int8_of(int exponent);
std::optional<int> exponent_of(const Precision& precision);  // empty: it is no such format

}  // namespace nibble::inline graph
