// SPDX-License-Identifier: Apache-2.0
// Gathers what is known of an integer network.
#include "emit/network_view.h"

#include "graph/integer_parameters.h"

namespace nibble {

PictureSize picture_size(const Shape& shape) {
  if (shape.rank() == 3) return {shape[0], shape[1], shape[2]};
  return {1, 1, shape.elements()};
}

NetworkView::NetworkView(Model integers)
    : model(std::move(integers)),
      shapes(infer_shapes(model.network)),
      parameters(parameters_of(model.network)),
      bounds(prove_bounds(model)),
      readers(size()),
      macs(multiply_accumulates(model.network)) {
  for (std::size_t i = 0; i < size(); ++i) {
    for (const std::size_t input : node(i).inputs) readers[input].push_back(i);
  }
}

std::vector<std::int64_t> NetworkView::integers(std::size_t i, std::string_view kind) const {
  const std::size_t p = find_parameter(parameters, i, kind);
  if (p == parameters.size()) return {};
  return integers_of(parameters[p], model.parameters[p]);
}

std::vector<std::int8_t> NetworkView::weights(std::size_t i) const {
  const std::size_t p = find_parameter(parameters, i, "weight");
  return weights_of(model.network, parameters[p], model.parameters[p]);
}

}  // namespace nibble
