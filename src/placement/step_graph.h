// SPDX-License-Identifier: Apache-2.0
// A training step as units that can be placed and tensors that flow between them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "integer_step/tape.h"

namespace nibble::inline placement {

struct PlacedUnit {
  StepUnit unit;
  std::string node;         // its name
  std::int64_t memory = 0;  // bytes that stay on its device
  bool is_fixed = false;    // on the first device, with all that is tied to it
};

// A tensor that one unit makes and others read. It crosses once, however many read it.
struct Flow {
  std::string tensor;
  std::size_t from = 0;         // a unit
  std::vector<std::size_t> to;  // units
  std::int64_t bytes = 0;
  bool is_sent = false;  // as soon as it is made, to be there in the next step: a weight
  // Gone once it is read: an error, or what a device makes for the host alone.
  bool is_passing = false;
  std::int64_t unpacked = 0;  // bytes of it on a device; 0: as many as cross

  std::int64_t memory() const { return unpacked > 0 ? unpacked : bytes; }
};

struct StepGraph {
  std::vector<PlacedUnit> units;  // in the order of a step
  std::vector<Flow> flows;
  std::vector<std::size_t> group;  // by unit: those of one number run on one device
  // Until devices that run ahead have been asked for all of the way back.
  bool host_gradients_wait = false;

  // Nothing where the step has no such unit.
  const PlacedUnit* find(StepUnit unit) const;
};

// Of a batch of so many images.
StepGraph step_graph(const Network& network, const IntegerTape& tape, std::int64_t images);

// By unit: the first (0) or the second device (1).
using Sides = std::vector<std::uint8_t>;

// All units on one device, as far as they can be.
Sides all_on(const StepGraph& graph, std::uint8_t side);

// By pass. Passes that are no units of the step stand where they cost nothing.
using LayerSides = std::array<std::uint8_t, 4>;
LayerSides sides_of_layer(const StepGraph& graph, const Sides& sides, std::size_t node);

}  // namespace nibble::inline placement
