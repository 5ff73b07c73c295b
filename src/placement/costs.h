// SPDX-License-Identifier: Apache-2.0
// What a step costs on two devices, in whole nanoseconds, so that plans can be compared exactly.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "placement/step_graph.h"

namespace nibble::inline placement {

using Nanoseconds = std::int64_t;

// A copy takes latency + bytes · picoseconds_a_byte / 1000.
struct LinkCost {
  Nanoseconds latency = 0;
  std::int64_t picoseconds_a_byte = 0;

  Nanoseconds of(std::int64_t bytes) const { return latency + bytes * picoseconds_a_byte / 1000; }
  bool operator==(const LinkCost&) const = default;
};

struct StepCosts {
  std::vector<std::array<Nanoseconds, 2>> units;        // by unit and device
  std::array<LinkCost, 2> links;                        // from the first device, from the second
  std::vector<std::array<Nanoseconds, 2>> copies = {};  // by flow and where it comes from; 0, or
                                                        // none at all: as the links say
  std::array<bool, 2> runs_ahead{};  // of the host, which then goes on to other work

  // Of a flow of the graph by its number.
  Nanoseconds copy(const StepGraph& graph, std::size_t flow, std::uint8_t from) const;
};

// Whether any reader of the tensor is elsewhere.
bool crosses(const Flow& flow, const Sides& sides);

// All units and all copies, one after the other.
Nanoseconds sum_of(const StepGraph& graph, const StepCosts& costs, const Sides& sides);

std::int64_t bytes_crossing(const StepGraph& graph, const Sides& sides);

}  // namespace nibble::inline placement
