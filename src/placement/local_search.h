// SPDX-License-Identifier: Apache-2.0
// Moves units from device to device as long as the time line gets shorter.
#pragma once

#include <functional>

#include "placement/time_line.h"

namespace nibble::inline placement {

// Tries every unit, every node with all its passes and short runs of units; takes what is shorter
// and begins again until nothing is. Sides that `allows` refuses are never taken.
Sides improved(const StepGraph& graph, const StepCosts& costs, Sides sides,
               const std::function<bool(const Sides&)>& allows);

}  // namespace nibble::inline placement
