// SPDX-License-Identifier: Apache-2.0
// A step on two devices as it would run: units in their order, each as early as its device and what
// it reads allow. The host computes what its own device has, makes every copy and waits for what it
// reads; a device that runs ahead works on meanwhile.
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
