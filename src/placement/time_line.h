// SPDX-License-Identifier: Apache-2.0
// A step on two devices as it would run: units in their order, each as early as its device and what
// it reads allow. The host computes what its own device has and asks a device that runs ahead for
// the rest. What crosses leaves as soon as it is made, travels beside all computing, one copy at a
// time in each direction, and is waited for by who reads it. While two devices compute that slow
// each other down, everything takes longer.
#pragma once

#include <cstddef>
#include <vector>

#include "placement/costs.h"

namespace nibble::inline placement {

struct TimeSpan {
  bool is_copy = false;
  std::size_t number = 0;  // of the unit, or of the flow
  std::uint8_t side = 0;   // who computes, or where the copy comes from
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
};

struct TimeLine {
  std::vector<TimeSpan> spans;
  Nanoseconds length = 0;
};

TimeLine time_line(const StepGraph& graph, const StepCosts& costs, const Sides& sides);

}  // namespace nibble::inline placement
