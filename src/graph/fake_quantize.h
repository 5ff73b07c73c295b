// SPDX-License-Identifier: Apache-2.0
// What rounding to integers makes of real numbers: the definition that fake-quantized networks
// train with and that the integer network follows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "graph/node_error.h"
#include "nibble/graph/network.h"

namespace nibble::inline graph {

struct IntegerGrid {
  std::int64_t low = -127;
  std::int64_t high = 127;
  bool operator==(const IntegerGrid&) const = default;
};

// clamp(R(x / step), low, high), R to the nearest, ties away from zero, the quotient in float32.
inline float quantized(float x, float step, const IntegerGrid& grid) {
  return std::clamp(std::round(x / step), static_cast<float>(grid.low),
                    static_cast<float>(grid.high));
}

inline float fake_quantized(float x, float step, const IntegerGrid& grid) {
  return step * quantized(x, step, grid);
}

// The integers that a format of at most 16 bits has: of uint4(zero=8) the codes less the zero, -8
// to 7. Throws, naming the node, where it is no such format.
inline IntegerGrid grid_of(const Node& node, const Format& format) {
  const auto* grid = std::get_if<GridElement>(&format.element);
  if (grid == nullptr || !grid->is_integer || !grid->clamps || grid->bits > 16) {
    fail_node(node, "format", to_string(format), "integers of at most 16 bits");
  }
  return {static_cast<std::int64_t>(grid->lowest_n()) - format.scaling.zero,
          static_cast<std::int64_t>(grid->highest_n()) - format.scaling.zero};
}

}  // namespace nibble::inline graph
