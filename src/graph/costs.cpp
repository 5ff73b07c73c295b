// SPDX-License-Identifier: Apache-2.0
// Counts products: every output of a convolution or a linear layer takes one for each weight in
// reach.
#include <fmt/format.h>

#include "graph/node_error.h"
#include "graph/shapes.h"
#include "nibble/graph/network.h"

namespace nibble {

std::vector<std::int64_t> multiply_accumulates(const Network& network) {
  const std::vector<Shape> shapes = infer_shapes(network);
  std::vector<std::int64_t> counts(network.nodes.size());
  for (const Parameter& parameter : parameters_of(network)) {
    if (parameter.kind != "weight") continue;
    const Shape& weight = parameter.shape;
    // All weights of one output channel, at every place where it is computed.
    const std::int64_t per_value = weight.elements() / weight[0];
    const std::int64_t values = shapes[parameter.node].elements();
    if (values > kMaxProducts / per_value) {
      fail_node(network.nodes[parameter.node], "products",
                fmt::format("{} · {}", values, per_value), fmt::format("at most {}", kMaxProducts));
    }
    counts[parameter.node] = values * per_value;
  }
  return counts;
}

}  // namespace nibble
