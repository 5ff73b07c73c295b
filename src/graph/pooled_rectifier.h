// SPDX-License-Identifier: Apache-2.0
// Rectifiers whose values need not be kept for the way back.
#pragma once

#include <cstddef>

#include "nibble/graph/network.h"

namespace nibble::inline graph {

// A relu that one max pool reads, and nobody else, by windows that do not overlap: where the
// largest of a window is zero its error goes nowhere, so that the pool can tell which errors pass.
bool is_pooled_rectifier(const Network& network, std::size_t node);

}  // namespace nibble::inline graph
