// SPDX-License-Identifier: Apache-2.0
// Parts of a network that run by themselves, so that passes layer by layer need not start over.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/model_parts.h"
#include "nibble/quantization/float_batches.h"

namespace nibble::inline quantization {

// By node, the last one before it (0: the input) whose value is all that it and later nodes depend
// on: nothing before that is read after it.
std::vector<std::size_t> narrow_places(const Network& network);

// Of a network whose parameters may change between calls; both must outlive it.
class Stretches {
 public:
  Stretches(const Network& network, const ParametersByName& parameters)
      : network_(network), parameters_(parameters), shapes_(infer_shapes(network)) {}

  // The model that gives the value of `to`, from that of the narrow place `from`.
  Model between(std::size_t from, std::size_t to) const;

 private:
  const Network& network_;
  const ParametersByName& parameters_;
  std::vector<Shape> shapes_;
};

FloatBatches answers_to(const Model& model, const FloatBatches& batches);

}  // namespace nibble::inline quantization
