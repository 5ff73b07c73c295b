// SPDX-License-Identifier: Apache-2.0
// Costs of parts, fitted to what whole steps took.
#pragma once

#include <vector>

#include "placement/costs.h"

namespace nibble::inline placement {

// Units measured one by one need not add up to a step: launches that follow one another overlap,
// caches are warmer. So they are stretched, or shrunk, to what a step on their device takes.
void fit_to_step(const StepGraph& graph, std::uint8_t side, Nanoseconds step, StepCosts& costs);

// A placement, and what its steps took.
struct MixedStep {
  Sides sides;
  Nanoseconds time = 0;
};

// Copies are measured with all else at rest, and what rests takes long to wake: in a step the same
// threads and devices are at work. So copies, and waking whoever waits for them, are stretched or
// shrunk, by one number or each by its own, until mixed steps take, in the median, what they took,
// and the others come near.
StepCosts fitted_to(const std::vector<MixedStep>& mixed, const StepGraph& graph,
                    const StepCosts& costs);

}  // namespace nibble::inline placement
