// SPDX-License-Identifier: Apache-2.0
// Gathers what is known of an integer network.
#include "emit/network_view.h"

#include "core/name.h"
#include "emit/c_text.h"
#include "graph/parameters.h"

namespace nibble::inline emit {

Network with_plain_names(Network network) {
  network.name = comment_part(network.name);
  for (Node& node : network.nodes) node.name = file_part(node.name);
  return network;
}

NetworkView::NetworkView(Model integers)
    : model{with_plain_names(std::move(integers.network)), std::move(integers.parameters)},
      shapes(infer_shapes(model.network)),
      parameters(parameters_of(model.network)),
      bounds(prove_bounds(model)),
      macs(multiply_accumulates(model.network)) {}

std::vector<std::int64_t> NetworkView::integers(std::size_t i, std::string_view kind) const {
  const std::size_t p = find_parameter(parameters, i, kind);
  if (p == parameters.size()) return {};
  return integers_of(parameters[p], model.parameters[p]);
}

std::vector<std::int8_t> NetworkView::weights(std::size_t i) const {
  const std::size_t p = find_parameter(parameters, i, "weight");
  return weights_of(model.network, parameters[p], model.parameters[p]);
}

}  // namespace nibble::inline emit
