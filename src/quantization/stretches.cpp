// SPDX-License-Identifier: Apache-2.0
// Finds where all paths meet, and copies what lies between.
#include "quantization/stretches.h"

#include <algorithm>

#include "graph/model_parts.h"
#include "nibble/float_training/forward.h"
#include "quantization/quantization_points.h"

namespace nibble::inline quantization {

std::vector<std::size_t> narrow_places(const Network& network) {
  const auto readers = readers_of(network);
  std::vector<std::size_t> places(network.nodes.size());
  std::size_t last_reader = 0;  // of the nodes before
  std::size_t narrow = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i] = narrow;
    if (last_reader <= i) narrow = i;
    for (const std::size_t reader : readers[i]) last_reader = std::max(last_reader, reader);
  }
  return places;
}

Model Stretches::between(std::size_t from, std::size_t to) const {
  std::vector<bool> is_needed(to + 1);
  is_needed[to] = true;
  for (std::size_t i = to; i > from; --i) {
    if (!is_needed[i]) continue;
    for (const std::size_t input : network_.nodes[i].inputs) is_needed[input] = true;
  }
  Model part;
  part.network.name = network_.name;
  part.network.nodes.push_back({.name = network_.nodes[from].name,
                                .op = Input{.shape = shapes_[from], .mean = {}, .deviation = {}}});
  std::vector<std::size_t> place(to + 1);
  for (std::size_t i = from + 1; i <= to; ++i) {
    if (!is_needed[i]) continue;
    place[i] = part.network.nodes.size();
    part.network.nodes.push_back(network_.nodes[i]);
    for (std::size_t& input : part.network.nodes.back().inputs) input = place[input];
  }
  for (const Parameter& each : parameters_of(part.network)) {
    part.parameters.push_back(copy_of(parameters_.find(each.name)->second.view()));
  }
  return part;
}

FloatBatches answers_to(const Model& model, const FloatBatches& batches) {
  FloatForward forward(model);
  FloatBatches answers;
  batches.for_each([&](ConstTensorView batch) { answers.add(forward.answers(batch)); });
  return answers;
}

}  // namespace nibble::inline quantization
