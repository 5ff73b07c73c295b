// SPDX-License-Identifier: Apache-2.0
// The cheapest placement on two devices when nothing overlaps: a minimum cut, found exactly.
#pragma once

#include "placement/costs.h"

namespace nibble::inline placement {

// Of all placements one with the least sum_of(). `penalty` is added for every byte that stays on
// the second device, in picoseconds.
Sides cheapest_cut(const StepGraph& graph, const StepCosts& costs, std::int64_t penalty = 0);

// Bytes on the second device: what stays there, copies of tensors included, and the most of errors
// and other tensors on their way that are there at once.
std::int64_t memory_of_second(const StepGraph& graph, const Sides& sides);

// The cheapest cut whose second device has at most so many bytes: the penalty is bisected, then
// units that still fit go back where they save most. Not always the least sum under the cap.
Sides cut_within(const StepGraph& graph, const StepCosts& costs, std::int64_t most_bytes);

}  // namespace nibble::inline placement
