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

// A tensor on its way: first the host sees it off, then it travels, then it is brought in, by the
// host and on the device that reads it.
struct CopyCost {
  Nanoseconds leave = 0;
  Nanoseconds travel = 0;
  Nanoseconds ask = 0;     // the host's part of the arrival
  Nanoseconds arrive = 0;  // the part of a device that runs ahead

  Nanoseconds sum() const { return leave + travel + ask + arrive; }
  bool operator==(const CopyCost&) const = default;
};

// Both ways through one kind of host memory: from the first device, from the second.
struct WireCost {
  WireKind kind = WireKind::pageable;
  std::array<LinkCost, 2> links;
  bool operator==(const WireCost&) const = default;
};

struct StepCosts {
  std::vector<std::array<Nanoseconds, 2>> units;  // by unit and device
  std::array<LinkCost, 2> links;                  // from the first device, from the second
  // By flow and where it comes from; nothing at all: as the links say.
  std::vector<std::array<CopyCost, 2>> copies = {};
  std::array<bool, 2> runs_ahead{};  // of the host, which then goes on to other work
  // What asking a device that runs ahead for a unit takes of the host's time, by unit and device.
  std::vector<std::array<Nanoseconds, 2>> asks = {};
  std::array<Nanoseconds, 2> wakes{};  // until a device that was idle begins, or a wait for it ends
  // How long computing takes while the other device computes too, in thousandths of the time alone.
  std::int64_t crowded = 1000;
  WireKind wire = WireKind::pinned;  // between the two
  std::vector<WireCost> wires = {};  // all that there are, to be shown

  // Of a flow of the graph by its number.
  CopyCost copy(const StepGraph& graph, std::size_t flow, std::uint8_t from) const;
  Nanoseconds ask(std::size_t unit, std::uint8_t side) const {
    return unit < asks.size() && runs_ahead[side] ? asks[unit][side] : 0;
  }
};

// Of all that tied and fixed units allow; another number, other sides.
Sides sides_by_chance(const StepGraph& graph, std::uint32_t number);

// Whether any reader of the tensor is elsewhere.
bool crosses(const Flow& flow, const Sides& sides);

// All units and all copies, one after the other, without what the host has to ask.
Nanoseconds sum_of(const StepGraph& graph, const StepCosts& costs, const Sides& sides);

std::int64_t bytes_crossing(const StepGraph& graph, const Sides& sides);

}  // namespace nibble::inline placement
