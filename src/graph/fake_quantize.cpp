// SPDX-License-Identifier: Apache-2.0
// The grids of formats.
#include "graph/fake_quantize.h"

#include "graph/node_error.h"

namespace nibble::inline graph {

IntegerGrid grid_of(const Node& node, const Format& format) {
  const auto* grid = std::get_if<GridElement>(&format.element);
  if (grid == nullptr || !grid->is_integer || !grid->clamps || grid->bits > 16) {
    fail_node(node, "format", to_string(format), "integers of at most 16 bits");
  }
  return {static_cast<std::int64_t>(grid->lowest_n()) - format.scaling.zero,
          static_cast<std::int64_t>(grid->highest_n()) - format.scaling.zero};
}

}  // namespace nibble::inline graph
