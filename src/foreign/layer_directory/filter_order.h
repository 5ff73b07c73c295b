// SPDX-License-Identifier: Apache-2.0
// The two orders of a filter's weights: (out, in, rows, columns) in layer directories, ours.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nibble/core/shape.h"

namespace nibble::inline foreign {

// `shape` is ours, (out, rows, columns, in), whichever way it goes.
std::vector<std::int8_t> channels_last(std::span<const std::int8_t> weights, const Shape& shape);
std::vector<std::int8_t> channels_first(std::span<const std::int8_t> weights, const Shape& shape);

}  // namespace nibble::inline foreign
