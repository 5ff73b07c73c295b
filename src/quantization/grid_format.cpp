// SPDX-License-Identifier: Apache-2.0
// Finds bits, sign and zero point.
#include "quantization/grid_format.h"

#include <fmt/format.h>

#include "graph/node_error.h"

namespace nibble::inline quantization {

Precision grid_format(const Node& node, const FakeQuantize& grid, float step) {
  Precision precision;
  Scaling& scaling = precision.format.scaling;
  scaling.kind = ScaleKind::given;
  scaling.scale = step;
  const bool is_symmetric = grid.low == -grid.high;
  const std::int64_t levels = grid.high - grid.low + 1 + (is_symmetric ? 1 : 0);
  int bits = 1;
  while ((std::int64_t{1} << bits) < levels) ++bits;
  if (levels != std::int64_t{1} << bits || bits > 16) {
    fail_node(node, "grid", fmt::format("{} to {}", grid.low, grid.high),
              "all integers of a format of at most 16 bits");
  }
  if (!is_symmetric) scaling.zero = static_cast<int>(-grid.low);
  precision.format.element =
      GridElement{.bits = bits, .is_signed = is_symmetric, .is_symmetric = is_symmetric};
  return precision;
}

}  // namespace nibble::inline quantization
